/* SPDX-License-Identifier: MIT
 * Measures how many texts per second a process embeds if several threads call the library at the same time, compared
 * with one thread that calls an embedder with several threads. All embedders belong to one open model.
 *
 *     callers_bench MODEL FILE [CALLERS [THREADS [ROUNDS]]]     default: 16 callers, all CPUs, 5 rounds
 *
 * Each line of FILE is a text. The threads take groups of GROUP texts until no text is left, as a server would. The
 * rounds alternate between the arrangements, so that a change of the machine's speed affects all of them. Prints the
 * fastest and the median speed of each arrangement, the ratio of the medians to the first one, and the least CPU time
 * of all threads, on which other programs have less effect.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aoe.h"
#include "base/clock.h"
#include "support/series.h"

enum { GROUP = 64, MAX_CALLERS = 1024 };

static aoe_context *ctx;
static aoe_model *model;
static aoe_text *text;      /* [n] */
static size_t n, n_callers; /* number of texts, and of callers in all arrangements except the first one */
static atomic_size_t next;  /* first text that no caller has taken */
static atomic_int failed;

typedef struct arrangement {
    const char *name;
    size_t callers;
    size_t threads;                    /* options.threads of the embedders */
    int shared;                        /* 1: all callers use one embedder */
    size_t group;                      /* number of texts that a caller takes at a time */
    bench_series seconds, cpu_seconds; /* one value per round */
} arrangement;

typedef struct caller {
    pthread_t thread;
    aoe_embedder *embedder; /* borrowed */
    size_t group;
} caller;

static void report(const aoe_error *err) {
    fprintf(stderr, "%s\n", err->message);
    atomic_store(&failed, 1);
}

static void *call(void *arg) {
    const caller *c = arg;
    const size_t dims = aoe_embedder_dims(c->embedder);
    float *vectors = malloc(c->group * dims * sizeof *vectors);
    aoe_error err = {.message = "out of memory"};
    for (size_t first; !atomic_load(&failed) && (first = atomic_fetch_add(&next, c->group)) < n;)
        if (!vectors ||
            aoe_embed(c->embedder, text + first, n - first < c->group ? n - first : c->group, vectors, NULL, &err))
            report(&err);
    free(vectors);
    return NULL;
}

/* Returns the CPU time of all threads of this process, in seconds. */
static double cpu_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Embeds all texts and adds the duration. The embedders are created before. */
static void run(arrangement *a) {
    static caller callers[MAX_CALLERS];
    aoe_embedder_options o;
    aoe_error err;
    aoe_embedder_options_defaults(&o);
    o.threads = a->threads;
    for (size_t i = 0; i < a->callers; i++) {
        callers[i] = (caller){.embedder = i && a->shared ? callers[0].embedder : NULL, .group = a->group};
        if (!callers[i].embedder && aoe_embedder_create(&callers[i].embedder, model, &o, &err))
            report(&err);
    }
    atomic_store(&next, 0);
    const double start = aoei_now(), cpu_start = cpu_time();
    size_t started = 0;
    while (started < a->callers && !atomic_load(&failed) &&
           !pthread_create(&callers[started].thread, NULL, call, &callers[started]))
        started++;
    for (size_t i = 0; i < started; i++)
        pthread_join(callers[i].thread, NULL);
    bench_series_add(&a->seconds, aoei_now() - start);
    bench_series_add(&a->cpu_seconds, cpu_time() - cpu_start);
    for (size_t i = 0; i < a->callers && (i == 0 || !a->shared); i++)
        aoe_embedder_destroy(callers[i].embedder);
    if (started < a->callers)
        atomic_store(&failed, 1);
}

/* Reads the lines of a file. The texts are used until the process ends. */
static int read_texts(const char *path) {
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t size = 0, capacity = 0;
    ssize_t len;
    while (f && (len = getline(&line, &size, f)) > 0) {
        aoe_text *grown = n < capacity ? text : realloc(text, (capacity = 2 * capacity + 1024) * sizeof *text);
        if (!grown)
            break;
        text = grown;
        text[n++] = (aoe_text){line, (size_t)len - (line[len - 1] == '\n')};
        line = NULL;
        size = 0;
    }
    free(line);
    if (f)
        fclose(f);
    return n == 0;
}

int main(int argc, char **argv) {
    aoe_error err;
    if (argc < 3 || argc > 6 || read_texts(argv[2])) {
        fprintf(stderr, "usage: callers_bench MODEL FILE [CALLERS [THREADS [ROUNDS]]]\n");
        return 2;
    }
    aoe_context_options c;
    aoe_context_options_defaults(&c);
    n_callers = argc > 3 ? strtoul(argv[3], NULL, 10) : 16;
    c.threads = argc > 4 ? strtoul(argv[4], NULL, 10) : c.threads;
    const size_t rounds = argc > 5 ? strtoul(argv[5], NULL, 10) : 5;
    if (!n_callers || n_callers > MAX_CALLERS || aoe_context_create(&ctx, &c, &err) ||
        aoe_model_open(&model, ctx, argv[1], NULL, &err)) {
        fprintf(stderr, "%s\n", n_callers && n_callers <= MAX_CALLERS ? err.message : "CALLERS must be 1 to 1024");
        return 1;
    }
    arrangement all[] = {
        {.name = "one caller, all threads", .callers = 1, .threads = AOE_AUTO, .group = n},
        {.name = "an embedder per caller, 1 thread each", .callers = n_callers, .threads = 1, .group = GROUP},
        {.name = "one embedder, 1 thread per call", .callers = n_callers, .threads = 1, .shared = 1, .group = GROUP},
        {.name = "one embedder, shared threads",
         .callers = n_callers,
         .threads = AOE_AUTO,
         .shared = 1,
         .group = GROUP},
    };
    enum { ARRANGEMENTS = sizeof all / sizeof *all };
    run(&all[0]); /* packs the weights */
    all[0].seconds.n = all[0].cpu_seconds.n = 0;
    for (size_t i = 0; i < rounds * ARRANGEMENTS; i++)
        run(&all[i % ARRANGEMENTS]);
    printf("%zu texts, %zu callers, context with %zu threads\n", n, n_callers, c.threads);
    printf("%-40s %12s %12s %8s %8s\n", "", "fastest/s", "median/s", "ratio", "CPU s");
    for (size_t i = 0; i < ARRANGEMENTS; i++)
        printf("%-40s %12.1f %12.1f %8.3f %8.3f\n", all[i].name, (double)n / bench_fastest(&all[i].seconds),
               (double)n / bench_median(&all[i].seconds), bench_median(&all[0].seconds) / bench_median(&all[i].seconds),
               bench_fastest(&all[i].cpu_seconds));
    aoe_model_close(model);
    aoe_context_destroy(ctx);
    return atomic_load(&failed);
}
