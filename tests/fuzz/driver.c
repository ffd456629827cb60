/* SPDX-License-Identifier: MIT
 * Runs a fuzz harness in `make check`. The harness is called with the empty input, with every file of its corpus, and
 * with random mutations of these files. The random seed is different each time; the environment variable AOE_FUZZ_SEED
 * sets it. If the harness fails, the input is stored next to the program, and a message tells how to repeat the
 * failure. With the path of a file as the argument, only this file is run. `make fuzz` links the harness with libFuzzer
 * instead of this file.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/support.h"
#include "base/random.h"
#include "harness.h"
#include "mutate.h"

enum { MAX_GROWTH = 512 /* maximum number of bytes that a mutation adds */ };

/* Sanitizers define this function. Its address is NULL if there is no sanitizer. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* ---- failures */

/* The input that is running. */
static struct {
    const fuzz_harness *harness;
    const char *program;
    const char *file; /* file of the corpus, or the file from which the input was mutated; NULL: the empty input */
    const fuzz_input *input; /* NULL: the harness is not running */
    uint64_t seed;
    size_t mutation; /* number of the mutation, counted from 1; 0: the input is not mutated */
} running;

/* Stores the input and prints how to repeat the failure. It is called when the process ends. */
static void report(void) {
    const fuzz_input *in = running.input;
    running.input = NULL;
    if (!in)
        return;
    if (!running.mutation) {
        fprintf(stderr, "fuzz: failed with %s\n", running.file ? running.file : "the empty input");
        return;
    }
    char path[4096];
    snprintf(path, sizeof path, "%s.finding-%llu-%zu", running.program, (unsigned long long)running.seed,
             running.mutation);
    FILE *f = fopen(path, "wb");
    if (f) {
        fwrite(in->data, 1, in->size, f);
        fclose(f);
    }
    fprintf(
        stderr,
        "fuzz: failed with mutation %zu of seed %llu, made from %s; the input is stored. Run it again with\n    %s %s\n"
        "or repeat all mutations with\n    AOE_FUZZ_SEED=%llu %s\n",
        running.mutation, (unsigned long long)running.seed, running.file, running.program, path,
        (unsigned long long)running.seed, running.program);
}

static void report_signal(int number) {
    signal(number, SIG_DFL);
    report();
    raise(number);
}

/* Arranges that `report` is called if the harness aborts, crashes, exits, is stopped, or fails in a sanitizer. */
static void catch_failures(void) {
    static char stack[1 << 16]; /* for the case that the stack is exhausted */
    const int sanitized = __sanitizer_set_death_callback != NULL;
    const int signals[] = {SIGABRT, SIGTERM, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    for (size_t i = 0; i < (sanitized ? 2 : sizeof signals / sizeof *signals); i++)
        sigaction(signals[i], &(struct sigaction){.sa_handler = report_signal, .sa_flags = SA_ONSTACK}, NULL);
    if (sanitized)
        __sanitizer_set_death_callback(report);
    atexit(report);
}

/* ---- corpus */

typedef struct corpus {
    fuzz_input *file; /* [n], owned */
    char **path;      /* [n] paths of the files, owned */
    size_t n;
} corpus;

static void *allocate(void *old, size_t size) {
    void *p = realloc(old, size ? size : 1);
    if (!p)
        exit(2);
    return p;
}

/* Adds a file to the corpus, which takes ownership of the path. */
static void add_file(corpus *c, char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(2);
    }
    fuzz_input in = {0};
    size_t n;
    do {
        in.max = in.size + 65536;
        in.data = allocate(in.data, in.max);
        n = fread(in.data + in.size, 1, in.max - in.size, f);
        in.size += n;
    } while (n > 0);
    fclose(f);
    c->file = allocate(c->file, (c->n + 1) * sizeof *c->file);
    c->path = allocate(c->path, (c->n + 1) * sizeof *c->path);
    c->path[c->n] = path;
    c->file[c->n++] = in;
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* Reads the files of a directory in the order of their names. */
static void add_dir(corpus *c, const char *dir) {
    struct dirent **entries;
    const int n = scandir(dir, &entries, is_visible, alphasort);
    if (n <= 0) {
        fprintf(stderr, "%s: no corpus found; pass its directory as the first argument\n", dir);
        exit(2);
    }
    for (int i = 0; i < n; i++) {
        const size_t size = strlen(dir) + strlen(entries[i]->d_name) + 2;
        char *path = allocate(NULL, size);
        snprintf(path, size, "%s/%s", dir, entries[i]->d_name);
        add_file(c, path);
        free(entries[i]);
    }
    free(entries);
}

/* Writes the path of a harness's corpus to dir[size]. For example, the corpus of build/tests/fuzz/json_fuzz is
 * tests/fuzz/corpus/json. */
static void corpus_dir(char *dir, size_t size, const char *program) {
    const char *name = strrchr(program, '/'), *src = getenv("SRC");
    name = name ? name + 1 : program;
    const char *end = strstr(name, "_fuzz");
    snprintf(dir, size, "%s/tests/fuzz/corpus/%.*s", src ? src : ".", (int)(end ? end - name : (long)strlen(name)),
             name);
}

/* ---- runs */

/* Runs the harness on a copy of an input, so that a read beyond its end is detected. mutation: number of the
 * mutation. */
static void run(const fuzz_input *in, const char *file, size_t mutation) {
    uint8_t *data = allocate(NULL, in->size);
    if (in->size)
        memcpy(data, in->data, in->size);
    running.file = file;
    running.mutation = mutation;
    running.input = in;
    running.harness->run(data, in->size);
    running.input = NULL;
    free(data);
}

/* Runs a random mutation of a file of the corpus. */
static void run_mutation(const corpus *c, size_t mutation, aoei_rng *r) {
    const size_t i = aoei_rng_below(r, (uint32_t)c->n);
    const fuzz_input *other = &c->file[aoei_rng_below(r, (uint32_t)c->n)];
    fuzz_input in = {.size = c->file[i].size, .max = c->file[i].size + MAX_GROWTH};
    in.data = allocate(NULL, in.max);
    memcpy(in.data, c->file[i].data, in.size);
    fuzz_mutate(&in, other->data, other->size, r);
    run(&in, c->path[i], mutation);
    free(in.data);
}

static uint64_t choose_seed(void) {
    uint32_t seed = 1;
    const char *text = getenv("AOE_FUZZ_SEED");
    if (text && *text)
        return strtoull(text, NULL, 10);
    (void)!getentropy(&seed, sizeof seed);
    return seed;
}

int fuzz_run(const fuzz_harness *h) {
    const char *argument = test_argc > 1 ? test_argv[1] : NULL;
    char dir[4096];
    struct stat st;
    corpus c = {0};
    corpus_dir(dir, sizeof dir, test_argv[0]);
    running.harness = h;
    running.program = test_argv[0];
    running.seed = choose_seed();
    const int single = argument && stat(argument, &st) == 0 && !S_ISDIR(st.st_mode);
    if (single)
        add_file(&c, strdup(argument));
    else
        add_dir(&c, argument ? argument : dir);
    if (h->initialize)
        h->initialize(&test_argc, &test_argv);
    catch_failures();
    aoei_rng r;
    aoei_rng_init(&r, running.seed, AOEI_STREAM_TEST, 0);
    const size_t mutations = single ? 0 : h->mutations ? *h->mutations : 20000;
    if (!single)
        run(&(fuzz_input){0}, NULL, 0);
    for (size_t i = 0; i < c.n; i++)
        run(&c.file[i], c.path[i], 0);
    for (size_t i = 1; i <= mutations; i++)
        run_mutation(&c, i, &r);
    printf("%zu files and %zu mutations (AOE_FUZZ_SEED=%llu)\n", c.n, mutations, (unsigned long long)running.seed);
    for (size_t i = 0; i < c.n; i++) {
        free(c.file[i].data);
        free(c.path[i]);
    }
    free(c.file);
    free(c.path);
    return 0;
}
