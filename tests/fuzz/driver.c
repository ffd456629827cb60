/* SPDX-License-Identifier: MIT
 * The main function of a fuzz test in `make check`. It calls the harness with the empty input, with every file of its corpus,
 * and with reproducible mutations of these files. `make fuzz` links the harness with libFuzzer instead of this file.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "../support/support.h"

#define MAX_EDITS  8
#define MAX_GROWTH 64 /* maximum number of bytes that one mutation adds */

static const char *const tokens[] = {"\0",
                                     "\xff",
                                     "\x80",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     "\"",
                                     "\\u0000",
                                     "-1",
                                     "1e999",
                                     "18446744073709551615",
                                     "\xef\xbf\xbd",
                                     "\xf4\x90\x80\x80",
                                     "\xed\xa0\x80",
                                     "\t",
                                     "\r\n",
                                     ","};

typedef struct input {
    uint8_t *data; /* [size], owned */
    size_t size;
} input;

/* Replaces the bytes [at, at + cut) of the input by bytes[n]. */
static void splice(input *in, size_t at, size_t cut, const void *bytes, size_t n) {
    size_t size = in->size - cut + n;
    uint8_t *data = malloc(size ? size : 1);
    if (!data)
        exit(2);
    if (at)
        memcpy(data, in->data, at);
    if (n)
        memcpy(data + at, bytes, n);
    if (in->size > at + cut)
        memcpy(data + at + n, in->data + at + cut, in->size - at - cut);
    free(in->data);
    *in = (input){data, size};
}

static size_t below(aoei_rng *r, size_t n) {
    return n ? aoei_rng_below(r, (uint32_t)n) : 0;
}

static void mutate(input *in, aoei_rng *r) {
    size_t at = below(r, in->size + 1);
    size_t rest = in->size - at;
    uint8_t copy[MAX_GROWTH];
    size_t n = below(r, (rest < MAX_GROWTH ? rest : MAX_GROWTH) + 1);
    switch (below(r, 6)) {
    case 0: /* flip a bit */
        if (rest)
            in->data[at] ^= (uint8_t)(1u << below(r, 8));
        break;
    case 1: /* replace a byte */
        if (rest)
            in->data[at] = (uint8_t)aoei_rng_u32(r);
        break;
    case 2: /* remove n bytes */
        splice(in, at, n, NULL, 0);
        break;
    case 3: /* truncate the input */
        splice(in, at, rest, NULL, 0);
        break;
    case 4: { /* insert one of `tokens` */
        const char *t = tokens[below(r, sizeof tokens / sizeof *tokens)];
        splice(in, at, 0, t, *t ? strlen(t) : 1);
        break;
    }
    default: /* duplicate n bytes */
        memcpy(copy, in->data + at, n);
        splice(in, at, 0, copy, n);
    }
}

typedef struct corpus {
    input *file; /* [n], owned */
    size_t n;
} corpus;

static void add_file(corpus *c, const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(2);
    }
    input in = {0};
    uint8_t block[4096];
    size_t n;
    while ((n = fread(block, 1, sizeof block, f)) > 0)
        splice(&in, in.size, 0, block, n);
    fclose(f);
    c->file = realloc(c->file, (c->n + 1) * sizeof *c->file);
    if (!c->file)
        exit(2);
    c->file[c->n++] = in;
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* Reads the files of a directory in the order of their names. */
static corpus read_corpus(const char *dir) {
    corpus c = {0};
    struct dirent **entries;
    const int n = scandir(dir, &entries, is_visible, alphasort);
    if (n <= 0) {
        fprintf(stderr, "%s: no corpus found; pass its directory as the first argument\n", dir);
        exit(2);
    }
    for (int i = 0; i < n; i++) {
        char *path = malloc(strlen(dir) + strlen(entries[i]->d_name) + 2);
        if (!path)
            exit(2);
        sprintf(path, "%s/%s", dir, entries[i]->d_name);
        add_file(&c, path);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return c;
}

/* Runs the harness on a copy of an input. If r is not NULL, mutates the copy first. */
static void run(const input *original, aoei_rng *r) {
    input in = {0};
    splice(&in, 0, 0, original->data, original->size);
    if (r)
        for (size_t edits = 1 + below(r, MAX_EDITS); edits > 0; edits--)
            mutate(&in, r);
    LLVMFuzzerTestOneInput(in.data, in.size);
    free(in.data);
}

/* Writes the path of a harness's corpus to dir[size]. For example, the corpus of build/tests/fuzz/json_fuzz is
 * tests/fuzz/corpus/json. */
static void corpus_dir(char *dir, size_t size, const char *program) {
    const char *name = strrchr(program, '/'), *src = getenv("SRC");
    name = name ? name + 1 : program;
    const char *end = strstr(name, "_fuzz");
    snprintf(dir, size, "%s/tests/fuzz/corpus/%.*s", src ? src : ".", (int)(end ? end - name : (long)strlen(name)), name);
}

/* A harness may define these two symbols. The address of an undefined symbol is NULL. */
extern const size_t fuzz_mutations __attribute__((weak));
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

int main(int argc, char **argv) {
    char dir[4096];
    corpus_dir(dir, sizeof dir, argv[0]);
    corpus c = read_corpus(argc > 1 ? argv[1] : dir);
    if (LLVMFuzzerInitialize)
        LLVMFuzzerInitialize(&argc, &argv);
    aoei_rng r;
    aoei_rng_init(&r, 1, AOEI_STREAM_TEST, 0);
    const size_t mutations = &fuzz_mutations ? fuzz_mutations : 5000;
    run(&(input){0}, NULL);
    for (size_t i = 0; i < c.n; i++)
        run(&c.file[i], NULL);
    for (size_t i = 0; i < mutations; i++)
        run(&c.file[below(&r, c.n)], &r);
    printf("%zu files and %zu mutations\n", c.n, mutations);
    for (size_t i = 0; i < c.n; i++)
        free(c.file[i].data);
    free(c.file);
    return 0;
}
