/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: loss/detection_objective
 * Tests the loss of replaced token detection (loss/detection_objective.h): values that were computed with NumPy, finite
 * differences of the gradients, a classifier of zeros, large logits, and tokens that are divided into several calls.
 */
#include <math.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "loss/detection_objective.h"

enum { N = 7, D = 3, CELLS = 2 * (D + 1) };

/* The inputs and gradients of a call. x: [N D] vectors, then [2 D] weights and [2] biases. */
typedef struct problem {
    double x[N * D + CELLS], grad[N * D], sum[CELLS], work[AOEI_DETECTION_WORK * N];
    uint8_t label[N];
} problem;

static void create(problem *p) {
    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < sizeof p->x / sizeof *p->x; i++)
        p->x[i] = sin(1.7 * (double)i + 0.3);
    for (size_t t = 0; t < N; t++)
        p->label[t] = t % 3 == 1;
}

/* Computes the sum of the losses of the tokens [first, last) of x. */
static double sum_of(problem *p, const double *x, size_t first, size_t last, double factor) {
    aoe_context *ctx = test_context(AOEI_TIER_C, 2);
    const double *w = x + (size_t)N * D;
    const aoei_detector c = {
        .weight = w, .bias = w + 2 * (size_t)D, .d_weight = p->sum, .d_bias = p->sum + 2 * (size_t)D};
    const aoei_detection_batch b = {.n = last - first,
                                    .D = D,
                                    .v64 = x + first * D,
                                    .grad64 = p->grad + first * D,
                                    .label = p->label + first,
                                    .factor = factor,
                                    .work = p->work};
    double loss = 0;
    assert_int_equal(aoei_detection_objective(&c, &b, &loss, ctx, NULL), 0);
    aoe_context_destroy(ctx);
    return loss;
}

static double loss(void *arg, const double *x) {
    problem copy = *(const problem *)arg;
    return sum_of(&copy, x, 0, N, 1);
}

static void values(void **state) {
    (void)state;
    problem p;
    create(&p);
    assert_true(fabs(sum_of(&p, p.x, 0, N, 1) - 4.75954141606266) < 1e-12);
    assert_true(fabs(p.grad[4] - 0.883774787607266) < 1e-12);
    assert_true(fabs(p.sum[1] - 0.567745619346904) < 1e-12);
    assert_true(fabs(p.sum[2 * D + 1] + 0.595301185245616) < 1e-12);
    memset(p.x + (size_t)N * D, 0, CELLS * sizeof *p.x); /* a classifier of zeros */
    assert_true(fabs(sum_of(&p, p.x, 0, N, 1) - N * log(2)) < 1e-14);
}

static void gradients(void **state) {
    (void)state;
    problem p;
    double all[N * D + CELLS];
    create(&p);
    sum_of(&p, p.x, 0, N, 1);
    memcpy(all, p.grad, sizeof p.grad);
    memcpy(all + (size_t)N * D, p.sum, sizeof p.sum);
    test_gradient(loss, &p, p.x, all, N * D + CELLS, 1e-8);
    problem half;
    create(&half);
    sum_of(&half, half.x, 0, N, 0.5); /* the factor applies to the gradients of the vectors */
    for (size_t i = 0; i < (size_t)N * D; i++)
        assert_true(fabs(half.grad[i] - 0.5 * p.grad[i]) < 1e-15);
    assert_memory_equal(half.sum, p.sum, sizeof p.sum);
}

static void calls_add_up(void **state) {
    (void)state;
    problem whole, parts;
    create(&whole);
    create(&parts);
    sum_of(&whole, whole.x, 0, N, 1);
    sum_of(&parts, parts.x, 0, 2, 1);
    sum_of(&parts, parts.x, 2, 3, 1);
    sum_of(&parts, parts.x, 3, N, 1);
    assert_memory_equal(parts.grad, whole.grad, sizeof whole.grad);
    assert_memory_equal(parts.sum, whole.sum, sizeof whole.sum);
}

/* Logits of any finite size give a finite loss. Other logits are an error. */
static void large_logits(void **state) {
    (void)state;
    problem p;
    create(&p);
    double *bias = p.x + (size_t)N * D + 2 * (size_t)D;
    bias[0] = 2000;
    const double high = sum_of(&p, p.x, 0, N, 1);
    assert_true(high > 2 * 1990.0 && high < 2 * 2010.0); /* two of the tokens are replaced */
    bias[0] = INFINITY;
    aoe_context *ctx = test_context(AOEI_TIER_C, 1);
    float v[D] = {0, 0, 0}, grad[D];
    const aoei_detector c = {.weight = p.x, .bias = bias, .d_weight = p.sum, .d_bias = p.sum + 2 * (size_t)D};
    const aoei_detection_batch b = {
        .n = 1, .D = D, .v = v, .grad = grad, .label = p.label, .factor = 1, .work = p.work};
    aoe_error err;
    double sum = 0;
    assert_int_equal(aoei_detection_objective(&c, &b, &sum, ctx, &err), AOE_ENUMERIC);
    assert_non_null(strstr(err.message, "is not finite"));
    aoe_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(gradients),
                                       cmocka_unit_test(calls_add_up), cmocka_unit_test(large_logits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
