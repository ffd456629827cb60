/* SPDX-License-Identifier: MIT
 * Measures the speed of the BERT WordPiece tokenizer on one CPU core. Each line of the input is one text.
 *
 *     tokenizer_bench [FILE...]     FILE: plain, .gz or .zst; each file is measured separately
 *
 * The vocabulary is that of bert-base-uncased in the directory of test data (environment variable AOE_SHARED, default:
 * ../shared). Without arguments, the program reads the book and Wikipedia corpora in this directory. If the directory
 * does not exist, the vocabulary is trained on the texts of examples/train.tsv. Without arguments, these texts are then
 * tokenized repeatedly. The program prints a note in this case, because repeated texts make the caches of the tokenizer
 * more effective than a real corpus does.
 *
 * Only the first 32 MB of a file are read. Prints the fastest and the median CPU time of the runs, and the speed of the
 * fastest run in MB/s (10^6 bytes of text per second). CPU time is measured because it hardly depends on other
 * processes. The printed tier (instruction set) is always c, because the tokenizer has only one portable
 * implementation.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aoe_tokenizer.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/path.h"
#include "support/series.h"
#include "table/lines.h"
#include "tokenizer/wordpiece_save.h"
#include "tokenizer/wordpiece_trainer.h"

enum { RUNS = 9, MOST_BYTES = 32000000, EXAMPLE_REPEATS = 100 };

typedef struct corpus {
    aoei_buffer bytes; /* bytes of all texts, one text after the other */
    size_t *end;       /* [n] offset in `bytes` of the end of each text, owned */
    size_t n, capacity;
} corpus;

static void corpus_free(corpus *c) {
    aoei_buffer_free(&c->bytes);
    aoei_free(c->end);
}

static int add(corpus *c, const char *s, size_t len) {
    if (aoei_grow((void **)&c->end, &c->capacity, c->n, sizeof *c->end) || aoei_buffer_append(&c->bytes, s, len))
        return AOE_ENOMEM;
    c->end[c->n++] = c->bytes.len;
    return 0;
}

static aoe_text text_at(const corpus *c, size_t i) {
    const size_t start = i ? c->end[i - 1] : 0;
    return (aoe_text){c->bytes.data + start, c->end[i] - start};
}

/* Adds the texts of a file. If `fields` is 0, each line is a text. If `fields` is 1, the file is a tab-separated table
 * with a header line, and each field is a text. */
static int read_corpus(corpus *c, const char *path, int fields, aoe_error *err) {
    aoei_lines *lines;
    aoei_line line;
    int rc = aoei_lines_open(&lines, path, err), more = 0;
    if (rc)
        return rc;
    while (!rc && c->bytes.len < MOST_BYTES && (more = aoei_lines_next(lines, &line, err)) > 0) {
        const char *s = line.data, *end = s + line.len, *tab;
        while (fields && line.number > 1 && !rc && (tab = memchr(s, '\t', (size_t)(end - s)))) {
            rc = add(c, s, (size_t)(tab - s));
            s = tab + 1;
        }
        if (!rc && !(fields && line.number == 1))
            rc = add(c, s, (size_t)(end - s));
        if (rc)
            snprintf(err->message, sizeof err->message, "out of memory: the texts of %s", path);
    }
    aoei_lines_close(lines);
    return rc ? rc : more < 0 ? more : 0;
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int measure(const aoe_tokenizer *t, const char *name, const corpus *c, size_t repeats, aoe_error *err) {
    aoe_ids ids = {0};
    bench_series times = {.n = 0};
    size_t tokens = 0;
    int rc = 0;
    for (size_t run = 0; run <= RUNS && !rc; run++) {
        const double start = cpu_seconds();
        tokens = 0;
        for (size_t k = 0; k < repeats; k++) {
            for (size_t i = 0; i < c->n && !rc; i++) {
                rc = aoe_tokenizer_encode(t, text_at(c, i), NULL, &ids, err);
                tokens += ids.n;
            }
        }
        if (run > 0) /* run 0 is a warm-up run and is not recorded */
            bench_series_add(&times, cpu_seconds() - start);
    }
    aoe_ids_free(&ids);
    if (rc)
        return rc;
    const double bytes = (double)c->bytes.len * (double)repeats, fastest = bench_fastest(&times);
    printf("%-28s %-5s %10.0f %10zu %10.1f %10.1f %8.1f\n", name, "c", bytes, tokens, 1e3 * fastest,
           1e3 * bench_median(&times), bytes / fastest / 1e6);
    return 0;
}

static int bench_file(const aoe_tokenizer *t, const char *path, aoe_error *err) {
    corpus c = {.n = 0};
    const char *slash = strrchr(path, '/');
    int rc = read_corpus(&c, path, 0, err);
    if (!rc)
        rc = measure(t, slash ? slash + 1 : path, &c, 1, err);
    corpus_free(&c);
    return rc;
}

/* Trains a vocabulary on the texts, saves it in a temporary directory, opens the tokenizer, and removes the
 * directory. */
static int learn(aoe_tokenizer **t, const corpus *c, aoe_error *err) {
    static const char *const files[] = {"vocab.txt", "tokenizer.json", "tokenizer_config.json",
                                        "special_tokens_map.json"};
    const char *tmp = getenv("TMPDIR");
    char dir[512], path[600];
    aoei_wordpiece_trainer *trainer;
    snprintf(dir, sizeof dir, "%s/aoe-tokenizer-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    int rc = aoei_wordpiece_trainer_create(&trainer, NULL, err);
    for (size_t i = 0; i < c->n && !rc; i++)
        rc = aoei_wordpiece_trainer_add(trainer, text_at(c, i).data, text_at(c, i).len, err);
    if (!rc)
        rc = aoei_wordpiece_train(trainer, err);
    if (!rc && !mkdtemp(dir)) {
        snprintf(err->message, sizeof err->message, "%s: the temporary directory cannot be created; set TMPDIR", dir);
        rc = AOE_EIO;
    } else if (!rc) {
        rc = aoei_wordpiece_save(trainer, dir, err);
        if (!rc)
            rc = aoe_tokenizer_open(t, dir, err);
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
            snprintf(path, sizeof path, "%s/%s", dir, files[i]);
            remove(path);
        }
        rmdir(dir);
    }
    aoei_wordpiece_trainer_destroy(trainer);
    return rc;
}

/* Trains a vocabulary on examples/train.tsv and measures its tokenizer on the given files, or on examples/train.tsv if
 * there are no files. */
static int bench_learned(const char *const *file, size_t n, aoe_error *err) {
    corpus c = {.n = 0};
    aoe_tokenizer *t = NULL;
    int rc = read_corpus(&c, "examples/train.tsv", 1, err);
    if (!rc)
        rc = learn(&t, &c, err);
    if (!rc)
        printf("# AOE_SHARED does not exist: using a vocabulary of %zu tokens trained on examples/train.tsv\n",
               aoe_tokenizer_vocab_size(t));
    for (size_t i = 0; i < n && !rc; i++)
        rc = bench_file(t, file[i], err);
    if (!rc && n == 0)
        rc = measure(t, "examples/train.tsv, repeated", &c, EXAMPLE_REPEATS, err);
    aoe_tokenizer_close(t);
    corpus_free(&c);
    return rc;
}

static int bench_shared(const char *shared, const char *const *file, size_t n, aoe_error *err) {
    static const char *const corpora[] = {"data/corpus_books/books_1m.txt.zst",
                                          "data/corpus_wiki/wiki_sentences.tsv.zst"};
    char path[4096];
    aoe_tokenizer *t;
    snprintf(path, sizeof path, "%s/tokenizers/bert-base-uncased", shared);
    int rc = aoe_tokenizer_open(&t, path, err);
    for (size_t i = 0; i < n && !rc; i++)
        rc = bench_file(t, file[i], err);
    for (size_t i = 0; n == 0 && i < sizeof corpora / sizeof *corpora && !rc; i++) {
        snprintf(path, sizeof path, "%s/%s", shared, corpora[i]);
        rc = bench_file(t, path, err);
    }
    aoe_tokenizer_close(t);
    return rc;
}

int main(int argc, char **argv) {
    const char *shared = getenv("AOE_SHARED");
    const char *const *file = (const char *const *)argv + 1;
    const size_t n = argc > 1 ? (size_t)(argc - 1) : 0;
    aoe_error err = {0};
    if (!shared || !*shared)
        shared = "../shared";
    printf("%-28s %-5s %10s %10s %10s %10s %8s\n", "texts", "tier", "bytes", "tokens", "fastest ms", "median ms",
           "MB/s");
    const int rc = aoei_is_dir(shared) ? bench_shared(shared, file, n, &err) : bench_learned(file, n, &err);
    if (rc)
        fprintf(stderr, "tokenizer_bench: %s\n", err.message);
    return rc != 0;
}
