/* SPDX-License-Identifier: MIT
 * Measures the time to compute the training losses and their gradients for a batch of PAIRS pairs of vectors with 768
 * components, on all threads. Three losses of labeled pairs (cosine, in-batch negatives, angle) are measured separately
 * and together. A third of the pairs is positive, and no two texts are equal. In addition, the contrastive loss is
 * measured for PAIRS queries, without and with one negative per query.
 *
 *     loss_bench [PAIRS...]     default: 32 256 1024 4096
 *
 * Prints the fastest and the median time of the runs. For losses that consist of matmuls, it also prints the GFLOP/s of
 * the fastest run.
 *
 * The GFLOP/s count the following floating-point operations. For in-batch negatives with N = 2 PAIRS texts, this is the
 * minimum number: 768 N^2 for half of the symmetric matrix of scores, and 2 * 768 N^2 for the gradient. For large
 * batches, more operations are executed, because scores that do not fit in the workspace are computed twice. For each
 * term of the contrastive loss, 6 * 768 * PAIRS * CANDIDATES operations are counted, where CANDIDATES is the number of
 * candidates per query. Without negatives, there is one term, in which the candidates are all positives. With
 * negatives, there is a second term, in which the candidates are all positives and negatives.
 */
#include <stdio.h>
#include <stdlib.h>

#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/random.h"
#include "loss/contrastive_objective.h"
#include "loss/pair_objective.h"
#include "support/series.h"

enum { D = 768, MOST_RUNS = 25 };

static const struct {
    const char *name;
    int cosine, ibn, angle;
    size_t arity;         /* contrastive loss: number of texts per example; 0: losses of labeled pairs */
    double multiply_adds; /* number of multiply-adds of the matmuls, divided by 768 PAIRS^2; 0: not counted */
} terms[] = {
    {"cosine", 1, 0, 0, 0, 0},           {"in-batch negatives", 0, 1, 0, 0, 6}, {"angle", 0, 0, 1, 0, 0},
    {"all three", 1, 1, 1, 0, 0},        {"query, positive", 0, 1, 0, 2, 3},    {"and negative", 0, 1, 0, 3, 9},
    {"and cosine, angle", 1, 1, 1, 3, 0}};

typedef struct problem {
    size_t B;
    /* [B, 3, D] vectors and their gradients. Losses of labeled pairs use only the first two thirds, in which the
     * vectors of the first and of the second text of a pair alternate. */
    float *x, *grad;
    double *label; /* [B] label of each pair */
    void *workspace;
    size_t workspace_bytes;
} problem;

static void destroy(problem *p) {
    aoei_free(p->x);
    aoei_free(p->grad);
    aoei_free(p->label);
    aoei_aligned_free(p->workspace);
}

static int create(problem *p, size_t B) {
    aoei_rng rng;
    *p = (problem){.B = B, .workspace_bytes = aoei_pair_objective_workspace(B, D)};
    const size_t other = aoei_contrastive_objective_workspace(B, D, 3);
    p->workspace_bytes = other > p->workspace_bytes ? other : p->workspace_bytes;
    if (B == 0 || p->workspace_bytes == 0)
        return -1;
    p->x = aoei_malloc_array(B, 3 * D * sizeof(float));
    p->grad = aoei_malloc_array(B, 3 * D * sizeof(float));
    p->label = aoei_malloc_array(B, sizeof(double));
    p->workspace = aoei_aligned(p->workspace_bytes);
    if (!p->x || !p->grad || !p->label || !p->workspace)
        return -1;
    aoei_rng_init(&rng, 1, AOEI_STREAM_TEST, 0);
    for (size_t i = 0; i < B * 3 * D; i++)
        p->x[i] = (float)aoei_rng_normal(&rng);
    for (size_t i = 0; i < B; i++)
        p->label[i] = (double)(i % 3) / 2.0;
    return 0;
}

/* Computes one loss and its gradient once. term: index in `terms`. */
static int evaluate(const aoe_context *ctx, const problem *p, size_t term, aoe_error *err) {
    aoe_objective_options o;
    aoe_objective_options_defaults(&o);
    o.w_cosine = terms[term].cosine;
    o.w_ibn = terms[term].ibn;
    o.w_angle = terms[term].angle;
    if (terms[term].arity) {
        const aoei_example_batch examples = {.B = p->B, .D = D, .arity = terms[term].arity, .v = p->x, .grad = p->grad};
        return aoei_contrastive_objective(&o, &examples, p->workspace, p->workspace_bytes, ctx, NULL, err);
    }
    const aoei_pair_batch pairs = {.B = p->B,
                                   .D = D,
                                   .stride = 2 * D,
                                   .x = p->x,
                                   .y = p->x + D,
                                   .grad_x = p->grad,
                                   .grad_y = p->grad + D,
                                   .label = p->label};
    return aoei_pair_objective(&o, &pairs, p->workspace, p->workspace_bytes, ctx, NULL, err);
}

static int measure(const aoe_context *ctx, const problem *p, size_t term) {
    aoe_error err;
    bench_series times = {.n = 0};
    double total = 0.0;
    for (size_t run = 0; run <= MOST_RUNS && (run < 4 || total < 2.0); run++) {
        const double start = aoei_now();
        if (evaluate(ctx, p, term, &err)) {
            fprintf(stderr, "loss_bench: %s\n", err.message);
            return 1;
        }
        const double seconds = aoei_now() - start;
        total += seconds;
        if (run > 0) /* run 0 is a warm-up run and is not recorded */
            bench_series_add(&times, seconds);
    }
    const double fastest = bench_fastest(&times), pairs = (double)p->B;
    char rate[16] = "-";
    if (terms[term].multiply_adds > 0.0)
        snprintf(rate, sizeof rate, "%.1f", 2.0 * terms[term].multiply_adds * pairs * pairs * D / fastest / 1e9);
    printf("%-18s %-10s %7zu %8zu %10.3f %10.3f %9s\n", terms[term].name, aoe_context_tier(ctx),
           aoe_context_threads(ctx), p->B, 1e3 * fastest, 1e3 * bench_median(&times), rate);
    return 0;
}

static int bench(const aoe_context *ctx, size_t B) {
    problem p;
    int failed = create(&p, B);
    if (failed)
        fprintf(stderr,
                B ? "loss_bench: out of memory for %zu pairs\n" : "loss_bench: %zu pairs: give at least 1 pair\n", B);
    for (size_t i = 0; !failed && i < sizeof terms / sizeof *terms; i++)
        failed = measure(ctx, &p, i);
    destroy(&p);
    return failed;
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {32, 256, 1024, 4096};
    aoe_context *ctx;
    aoe_error err;
    if (aoe_context_create(&ctx, NULL, &err)) {
        fprintf(stderr, "loss_bench: %s\n", err.message);
        return 1;
    }
    const size_t n = argc > 1 ? (size_t)(argc - 1) : sizeof sizes / sizeof *sizes;
    int failed = 0;
    printf("%-18s %-10s %7s %8s %10s %10s %9s\n", "loss", "tier", "threads", "pairs", "fastest ms", "median ms",
           "GFLOP/s");
    for (size_t i = 0; !failed && i < n; i++)
        failed = bench(ctx, argc > 1 ? strtoul(argv[i + 1], NULL, 10) : sizes[i]);
    aoe_context_destroy(ctx);
    return failed;
}
