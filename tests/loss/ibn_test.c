/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: nn/panels
 * Tests the loss with in-batch negatives against a simple reference implementation, with and without identical texts.
 * Some batches are so large that their scores do not fit in the workspace. The environment variable AOE_CPU selects the
 * instruction set.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../support/support.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/random.h"
#include "loss/pair_objective.h"

typedef struct problem {
    size_t B, D, N;  /* B: number of pairs. D: size of a vector. N: number of texts, 2B. */
    double *v;       /* [2, B, D], owned; vectors of all texts x, then of all texts y */
    double *grad;    /* [2, B, D], owned; gradient of v */
    double *label;   /* [B], owned */
    uint32_t *group; /* [2B], owned; equal numbers mark identical texts */
    aoe_objective_options o;
} problem;

static void create(problem *p, size_t B, size_t D, uint64_t seed) {
    aoei_rng rng;
    *p = (problem){.B = B, .D = D, .N = 2 * B};
    p->v = test_malloc(2 * B * D * sizeof *p->v);
    p->grad = test_malloc(2 * B * D * sizeof *p->grad);
    p->label = test_malloc(B * sizeof *p->label);
    p->group = test_malloc(2 * B * sizeof *p->group);
    aoe_objective_options_defaults(&p->o);
    p->o.w_cosine = p->o.w_angle = 0.0;
    p->o.ibn_threshold = 3.5;
    aoei_rng_init(&rng, seed, AOEI_STREAM_TEST, 0);
    for (size_t i = 0; i < 2 * B * D; i++)
        p->v[i] = aoei_rng_normal(&rng);
    for (size_t i = 0; i < B; i++)
        p->label[i] = (double)aoei_rng_below(&rng, 6);
    for (size_t i = 0; i < 2 * B; i++)
        p->group[i] = aoei_rng_below(&rng, (uint32_t)B);
}

static void destroy(problem *p) {
    test_free(p->v);
    test_free(p->grad);
    test_free(p->label);
    test_free(p->group);
}

/* Returns the vector of text u. The texts have the order x0 y0 x1 y1 ... */
static const double *row_of(const problem *p, size_t u) {
    return p->v + ((u % 2) * p->B + u / 2) * p->D;
}

/* Returns the target of anchor u and candidate v: 1 if u and v are a positive pair, plus 1 if their texts are
 * identical. */
static double target_of(const problem *p, size_t u, size_t v) {
    double t = 0.0;
    if (u == v)
        return 0.0;
    if (u / 2 == v / 2 && p->label[u / 2] >= p->o.ibn_threshold)
        t += 1.0;
    if (p->o.isp && p->group[u] == p->group[v])
        t += 1.0;
    return t;
}

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0.0;
    for (size_t k = 0; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

/* Returns the loss, computed by its definition. Writes its gradient to grad, which has the layout of p->v. */
static double naive(const problem *p, double *grad) {
    size_t N = p->N, D = p->D;
    double *s = test_malloc(N * N * sizeof *s), *g = test_malloc(N * N * sizeof *g),
           *norm = test_malloc(N * sizeof *norm);
    double loss = 0.0;
    for (size_t u = 0; u < N; u++)
        norm[u] = sqrt(dot(row_of(p, u), row_of(p, u), D));
    for (size_t u = 0; u < N; u++)
        for (size_t v = 0; v < N; v++)
            s[u * N + v] = dot(row_of(p, u), row_of(p, v), D) / p->o.tau_ibn / (norm[u] * norm[v]);
    for (size_t u = 0; u < N; u++) {
        double max = -INFINITY, sum = 0.0, n = 0.0;
        for (size_t v = 0; v < N; v++)
            max = v == u ? max : fmax(max, s[u * N + v]);
        for (size_t v = 0; v < N; v++)
            sum += v == u ? 0.0 : exp(s[u * N + v] - max);
        for (size_t v = 0; v < N; v++) {
            const double target = target_of(p, u, v);
            n += target;
            loss += target * (max + log(sum) - s[u * N + v]) / (double)N;
        }
        for (size_t v = 0; v < N; v++)
            g[u * N + v] = v == u ? 0.0 : (n * exp(s[u * N + v] - max) / sum - target_of(p, u, v)) / (double)N;
    }
    for (size_t u = 0; u < N; u++) {
        double *out = grad + (row_of(p, u) - p->v);
        memset(out, 0, D * sizeof *out);
        for (size_t v = 0; v < N; v++) {
            double h = (g[u * N + v] + g[v * N + u]) / p->o.tau_ibn, cosine = s[u * N + v] * p->o.tau_ibn;
            for (size_t k = 0; k < D; k++)
                out[k] += h * (row_of(p, v)[k] / norm[v] - cosine * row_of(p, u)[k] / norm[u]) / norm[u];
        }
    }
    test_free(s);
    test_free(g);
    test_free(norm);
    return loss;
}

static double solve(problem *p, const aoe_context *ctx) {
    aoei_pair_batch b = {
        .B = p->B,
        .D = p->D,
        .stride = p->D,
        .x64 = p->v,
        .y64 = p->v + p->B * p->D,
        .grad_x64 = p->grad,
        .grad_y64 = p->grad + p->B * p->D,
        .label = p->label,
        .group = p->group,
    };
    aoe_objective_result r;
    aoe_error err = {0};
    size_t bytes = aoei_pair_objective_workspace(p->B, p->D);
    void *workspace = aoei_aligned(bytes);
    assert_non_null(workspace);
    memset(workspace, 0xff, bytes); /* fills the workspace with NaN, so that reading uninitialized memory changes the
                                       result */
    if (aoei_pair_objective(&p->o, &b, workspace, bytes, ctx, &r, &err))
        fail_msg("%s", err.message);
    aoei_aligned_free(workspace);
    return r.ibn;
}

static void check(problem *p) {
    size_t n = 2 * p->B * p->D;
    double *want = test_malloc(n * sizeof *want), loss = naive(p, want), norm = 0.0, error = 0.0;
    double got = solve(p, NULL);
    assert_true(fabs(got - loss) <= 1e-13 * fmax(1.0, fabs(loss)));
    for (size_t i = 0; i < n; i++) {
        norm += want[i] * want[i];
        error += (p->grad[i] - want[i]) * (p->grad[i] - want[i]);
    }
    /* if D is 1, the gradient is 0 except for rounding errors */
    assert_true(sqrt(error) <= 1e-12 * fmax(sqrt(norm), 1.0));
    test_free(want);
}

static void matches_definition(void **state) {
    static const size_t sizes[][2] = {{1, 2},  {2, 1},   {2, 8},    {3, 5},   {7, 64},  {33, 7},
                                      {47, 9}, {48, 25}, {49, 200}, {64, 16}, {97, 11}, {150, 23}};
    problem p;
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        create(&p, sizes[i][0], sizes[i][1], i);
        check(&p);
        p.o.isp = 0;
        check(&p);
        p.o.tau_ibn = 1e-3; /* gives exponents of up to 1000 */
        p.o.isp = 1;
        check(&p);
        destroy(&p);
    }
}

/* Tests a batch whose scores do not fit in the workspace, so that most scores are computed twice. */
static void large_batch(void **state) {
    problem p;
    (void)state;
    create(&p, 2300, 3, 5);
    assert_true(aoei_pair_objective_workspace(p.B, p.D) < p.N * p.N / 2 * sizeof(double));
    check(&p);
    /* The threshold is greater than all labels, so no pair is positive. Only identical texts are targets, and blocks of
     * scores without targets are skipped. */
    p.o.ibn_threshold = 5.5;
    for (size_t u = 0; u < p.N; u++)
        p.group[u] = (uint32_t)(u == 4000 ? 10 : u);
    check(&p);
    destroy(&p);
}

static void without_positives(void **state) {
    problem p;
    (void)state;
    create(&p, 9, 6, 2);
    p.o.ibn_threshold = INFINITY;
    p.o.isp = 0;
    assert_true(solve(&p, NULL) == 0.0);
    for (size_t i = 0; i < 2 * p.B * p.D; i++)
        assert_true(p.grad[i] == 0.0);
    destroy(&p);
}

/* Tests a positive pair of two identical texts. Its target must be 2, even if its two vectors differ, as they do with
 * dropout. */
static void equal_pair_has_target_two(void **state) {
    problem p;
    (void)state;
    create(&p, 3, 4, 8);
    for (size_t u = 0; u < p.N; u++)
        p.group[u] = (uint32_t)(u < 2 ? 0 : u);
    p.label[0] = 5.0;
    p.label[1] = p.label[2] = 0.0;
    double twice = solve(&p, NULL);
    p.o.isp = 0;
    double once = solve(&p, NULL);
    assert_true(once > 0.0 && twice == 2.0 * once);
    destroy(&p);
}

/* Tests zero vectors. They must have the cosine 0 with every vector, and their gradient must be 0. */
static void zero_vectors(void **state) {
    problem p;
    (void)state;
    create(&p, 4, 6, 3);
    for (size_t i = 0; i < p.B; i++)
        p.label[i] = 5.0;
    memset(p.v, 0, p.D * sizeof *p.v); /* the vector of x0 */
    double loss = solve(&p, NULL);
    assert_true(isfinite(loss) && loss > 0.0);
    for (size_t k = 0; k < p.D; k++)
        assert_true(p.grad[k] == 0.0);
    memset(p.v, 0, 2 * p.B * p.D * sizeof *p.v);
    p.o.isp = 0;
    assert_true(fabs(solve(&p, NULL) - log((double)p.N - 1.0)) < 1e-14);
    destroy(&p);
}

static void bits_do_not_depend_on_threads(void **state) {
    static const size_t sizes[][2] = {{37, 10}, {530, 210}, {2200, 10}};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        problem p;
        create(&p, sizes[i][0], sizes[i][1], i);
        double loss = solve(&p, NULL), *grad = test_malloc(2 * p.B * p.D * sizeof *grad);
        memcpy(grad, p.grad, 2 * p.B * p.D * sizeof *grad);
        for (size_t threads = TEST_SANITIZED ? 3 : 1; threads <= 3; threads++) {
            aoe_context *ctx;
            aoe_context_options o;
            aoe_context_options_defaults(&o);
            o.threads = threads;
            assert_int_equal(aoe_context_create(&ctx, &o, NULL), 0);
            assert_true(solve(&p, ctx) == loss);
            assert_memory_equal(grad, p.grad, 2 * p.B * p.D * sizeof *grad);
            aoe_context_destroy(ctx);
        }
        test_free(grad);
        destroy(&p);
    }
}

/* Tests a batch in which all texts are identical, so that every text is a target of every other text. */
static void one_text(void **state) {
    problem p;
    (void)state;
    create(&p, 60, 5, 4);
    memset(p.group, 0, p.N * sizeof *p.group);
    check(&p);
    destroy(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_definition), cmocka_unit_test(large_batch),
        cmocka_unit_test(without_positives),  cmocka_unit_test(equal_pair_has_target_two),
        cmocka_unit_test(zero_vectors),       cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(one_text),
    };
    return cmocka_run_group_tests_name("objective_ibn", tests, NULL, NULL);
}
