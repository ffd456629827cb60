/* SPDX-License-Identifier: MIT
 * Measures the scans of the vectors of an index: one query and batches of queries, exact and fast, and how many of the
 * k best rows the fast scan finds.
 *
 *     scan_bench [--n N] [--dims D] [--k K] [--threads T] [--seed S] [--check Q] [FILE.npy]
 *
 * The vectors are the rows of FILE.npy, normalized, or N random vectors of D components in clusters (default: 1,000,000
 * x 384). Queries are rows with noise; with a file, every (n / 1000)-th row without noise, which the bitmap of allowed
 * rows excludes. `read` is the time to add up the bytes of the codes as 64-bit words, which is the least time of a scan
 * of codes in memory. Times are the fastest of several runs; `median` is the median time per query. --check compares
 * the results of the exact scan for the first Q queries (default: 5) with the scores of all rows, which takes about 0.2
 * seconds per million rows and query.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/random.h"
#include "support/series.h"
#include "vectors/codes.h"
#include "vectors/npy.h"
#include "vectors/scan.h"

enum { QUERIES = 1000, CLUSTERS = 2000 };
#define ROW_NOISE   1.3 /* standard deviation of a component of a row, relative to its center */
#define QUERY_NOISE 0.6

typedef struct bench {
    size_t n, D, k, threads, check;
    uint64_t seed;
    const char *file; /* NULL: random vectors */
    float *x, *q;     /* rows [n, D] and queries [QUERIES, D], owned */
    unsigned char *codes, *signs;
    uint64_t *allowed; /* owned; NULL: all rows */
    aoei_scan s;
    aoei_neighbor *exact, *fast; /* [QUERIES, k] owned */
} bench;

/* Returns the time of the clock of a measurement. With one thread, this is the CPU time of the process, which hardly
 * depends on other processes. */
static double seconds_of(const bench *b) {
    struct timespec t;
    if (b->threads > 1)
        return aoei_now();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Returns about a normal random number: the sum of four bytes. */
static float rough_normal(aoei_rng *r) {
    const uint32_t x = aoei_rng_u32(r);
    return ((float)((x & 255) + (x >> 8 & 255) + (x >> 16 & 255) + (x >> 24)) - 510) / 148;
}

static void normalize(float *x, size_t D) {
    double squares = 0;
    for (size_t i = 0; i < D; i++)
        squares += (double)x[i] * (double)x[i];
    for (size_t i = 0; i < D && squares > 0; i++)
        x[i] = (float)((double)x[i] / sqrt(squares));
}

static void add_noise(float *x, size_t D, float sd, aoei_rng *r) {
    for (size_t d = 0; d < D; d++)
        x[d] += sd * rough_normal(r);
}

static void make_random(bench *b) {
    aoei_rng r;
    aoei_rng_init(&r, b->seed, AOEI_STREAM_TEST, 0);
    float *centers = aoei_calloc(CLUSTERS * b->D, sizeof *centers);
    for (size_t c = 0; centers && c < CLUSTERS; c++)
        add_noise(centers + c * b->D, b->D, 1, &r);
    for (size_t i = 0; centers && i < b->n; i++) {
        memcpy(b->x + i * b->D, centers + aoei_rng_below(&r, CLUSTERS) * b->D, b->D * sizeof *b->x);
        add_noise(b->x + i * b->D, b->D, (float)ROW_NOISE, &r);
    }
    aoei_free(centers);
    const float scale = (float)sqrt(1 + ROW_NOISE * ROW_NOISE);
    for (size_t i = 0; i < QUERIES; i++) {
        memcpy(b->q + i * b->D, b->x + i * (b->n / QUERIES) * b->D, b->D * sizeof *b->q);
        add_noise(b->q + i * b->D, b->D, (float)QUERY_NOISE * scale, &r);
    }
}

/* Returns 0 if the vectors have been read or generated, otherwise -1. */
static int make(bench *b) {
    aoei_npy a = {0};
    aoe_error err;
    if (b->file) {
        if (aoei_npy_open(&a, b->file, &err)) {
            fprintf(stderr, "scan_bench: %s\n", err.message);
            return -1;
        }
        b->n = a.rows;
        b->D = a.columns;
    }
    b->x = aoei_aligned(b->n * b->D * sizeof *b->x);
    b->q = aoei_malloc_array(QUERIES * b->D, sizeof *b->q);
    b->codes = aoei_aligned(b->n * aoei_codes_stride(b->D));
    b->signs = aoei_aligned(b->n * aoei_signs_stride(b->D));
    b->exact = aoei_malloc_array(QUERIES * b->k, sizeof *b->exact);
    b->fast = aoei_malloc_array(QUERIES * b->k, sizeof *b->fast);
    b->allowed = b->file ? aoei_calloc(b->n / 64 + 1, sizeof *b->allowed) : NULL;
    if (!b->x || !b->q || !b->codes || !b->signs || !b->exact || !b->fast || (b->file && !b->allowed)) {
        fprintf(stderr, "scan_bench: out of memory\n");
        return -1;
    }
    if (b->file) {
        aoei_npy_rows(&a, 0, b->n, b->x);
        memset(b->allowed, 255, (b->n / 64 + 1) * sizeof *b->allowed);
        for (size_t i = 0; i < QUERIES; i++) {
            const size_t row = i * (b->n / QUERIES);
            memcpy(b->q + i * b->D, b->x + row * b->D, b->D * sizeof *b->q);
            b->allowed[row / 64] &= ~((uint64_t)1 << row % 64);
        }
    } else {
        make_random(b);
    }
    aoei_npy_close(&a);
    return 0;
}

static void encode(bench *b) {
    for (size_t i = 0; i < QUERIES; i++)
        normalize(b->q + i * b->D, b->D);
    for (size_t i = 0; i < b->n; i++)
        normalize(b->x + i * b->D, b->D);
    const double start = seconds_of(b);
    for (size_t i = 0; i < b->n; i++) {
        aoei_codes_encode(b->x + i * b->D, b->D, b->codes + i * aoei_codes_stride(b->D));
        aoei_signs_encode(b->x + i * b->D, b->D, b->signs + i * aoei_signs_stride(b->D));
    }
    const double seconds = seconds_of(b) - start;
    printf("%zu vectors of %zu components, %zu threads, k = %zu; encoding %.2f us per vector\n", b->n, b->D, b->threads,
           b->k, seconds / (double)b->n * 1e6);
    b->s = (aoei_scan){.codes = b->codes,
                       .signs = b->signs,
                       .values = b->x,
                       .type = AOEI_F32,
                       .n = b->n,
                       .D = b->D,
                       .allowed = b->allowed};
}

static double read_seconds(const bench *b) {
    const size_t words = b->n * aoei_codes_stride(b->D) / sizeof(uint64_t);
    const uint64_t *x = (const uint64_t *)(const void *)b->codes;
    bench_series s = {0};
    volatile uint64_t sink;
    for (int run = 0; run < 7; run++) {
        uint64_t sum[8] = {0};
        const double start = seconds_of(b);
        for (size_t i = 0; i + 8 <= words; i += 8)
            for (size_t l = 0; l < 8; l++)
                sum[l] += x[i + l];
        bench_series_add(&s, seconds_of(b) - start);
        sink = sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
        (void)sink;
    }
    return bench_fastest(&s);
}

/* Prints the time per query of calls with `batch` queries. Returns the time of a call, or -1 after an error. */
static double measure(const bench *b, const aoe_context *ctx, int fast, size_t batch, size_t runs, double least) {
    bench_series s = {0};
    aoe_error err;
    for (size_t run = 0; run < runs; run++) {
        const size_t first = run * batch % QUERIES;
        const float *q = b->q + first * b->D;
        aoei_neighbor *best = (fast ? b->fast : b->exact) + first * b->k;
        const double start = seconds_of(b);
        const int code = fast ? aoei_scan_fast(ctx, &b->s, q, batch, b->k, 40 * b->k, NULL, NULL, best, &err)
                              : aoei_scan_exact(ctx, &b->s, q, batch, b->k, NULL, NULL, best, &err);
        bench_series_add(&s, seconds_of(b) - start);
        if (code) {
            fprintf(stderr, "scan_bench: %s\n", err.message);
            return -1;
        }
    }
    printf("| %-5s | %5zu | %9.3f | %9.3f | %9.3f | %6.2f |\n", fast ? "fast" : "exact", batch, bench_fastest(&s) * 1e3,
           bench_fastest(&s) / (double)batch * 1e3, bench_median(&s) / (double)batch * 1e3,
           bench_fastest(&s) / (double)batch / least);
    return bench_fastest(&s);
}

static void print_recall(const bench *b) {
    size_t found = 0;
    for (size_t i = 0; i < QUERIES * b->k; i++)
        for (size_t j = 0; j < b->k; j++)
            found += b->exact[i].text == b->fast[i / b->k * b->k + j].text;
    printf("recall@%zu of the fast scan with %zu candidates: %.4f\n", b->k, 40 * b->k,
           (double)found / (double)(QUERIES * b->k));
}

/* Compares the exact scan with the scores of all rows. Returns the number of queries with another result. */
static size_t compare(const bench *b) {
    size_t wrong = 0;
    aoei_neighbor *best = aoei_malloc_array(b->k, sizeof *best);
    for (size_t i = 0; best && i < b->check; i++) {
        aoei_best_clear(best, b->k);
        for (size_t r = 0; r < b->n; r++)
            if (!b->allowed || b->allowed[r / 64] >> r % 64 & 1)
                aoei_best_add(best, b->k, (aoei_neighbor){aoei_scan_score(&b->s, b->q + i * b->D, r), (uint32_t)r},
                              NULL, NULL);
        aoei_best_sort(best, b->k, NULL, NULL);
        size_t same = 0;
        for (size_t j = 0; j < b->k; j++) {
            const aoei_neighbor e = b->exact[i * b->k + j];
            same += e.text == best[j].text && !(e.score < best[j].score) && !(e.score > best[j].score);
        }
        wrong += same < b->k;
    }
    aoei_free(best);
    printf("exact scan and scores of all rows: %zu queries compared, %zu differ\n", b->check, wrong);
    return wrong;
}

/* Returns the number that an option sets, or NULL. */
static size_t *option(bench *b, const char *name) {
    const struct {
        const char *name;
        size_t *value;
    } options[] = {
        {"--n", &b->n}, {"--dims", &b->D}, {"--k", &b->k}, {"--threads", &b->threads}, {"--check", &b->check}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (!strcmp(name, options[i].name))
            return options[i].value;
    return NULL;
}

static int parse(bench *b, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        size_t *to = option(b, argv[i]);
        const int seed = !strcmp(argv[i], "--seed");
        if (argv[i][0] != '-')
            b->file = argv[i];
        else if (i + 1 == argc || (!to && !seed))
            return -1;
        else if (seed)
            b->seed = strtoull(argv[++i], NULL, 10);
        else
            *to = strtoul(argv[++i], NULL, 10);
    }
    return b->n >= QUERIES && b->D && b->k && b->threads && b->check <= QUERIES ? 0 : -1;
}

int main(int argc, char **argv) {
    bench b = {.n = 1000000, .D = 384, .k = 10, .threads = 1, .seed = 1, .check = 5};
    aoe_context *ctx = NULL;
    aoe_error err;
    if (parse(&b, argc, argv)) {
        fprintf(stderr,
                "usage: scan_bench [--n N] [--dims D] [--k K] [--threads T] [--seed S] [--check Q] [FILE.npy]\n");
        return 2;
    }
    aoe_context_options o;
    aoe_context_options_defaults(&o);
    o.threads = b.threads;
    if (aoe_context_create(&ctx, &o, &err)) {
        fprintf(stderr, "scan_bench: %s\n", err.message);
        return 1;
    }
    int failed = make(&b);
    if (!failed) {
        encode(&b);
        const double least = read_seconds(&b);
        printf("tier %s; read of the codes: %.3f ms, %.2f GB/s\n", aoei_tier_name(ctx->tier), least * 1e3,
               (double)(b.n * aoei_codes_stride(b.D)) / least / 1e9);
        printf("| scan  | batch | ms        | ms/query  | median    | / read |\n"
               "| :---- | ----: | --------: | --------: | --------: | -----: |\n");
        static const size_t batches[] = {1, 4, 64, QUERIES};
        for (int fast = 0; fast < 2; fast++)
            for (size_t i = 0; i < 4; i++)
                failed |= measure(&b, ctx, fast, batches[i],
                                  batches[i] == QUERIES ? 2
                                  : batches[i] == 1     ? 25
                                                        : 5,
                                  least) < 0;
        print_recall(&b);
        failed |= compare(&b) > 0;
    }
    aoei_aligned_free(b.x);
    aoei_free(b.q);
    aoei_aligned_free(b.codes);
    aoei_aligned_free(b.signs);
    aoei_free(b.exact);
    aoei_free(b.fast);
    aoei_free(b.allowed);
    aoe_context_destroy(ctx);
    return failed != 0;
}
