/* SPDX-License-Identifier: MIT
 * covers: loss/regression_objective
 * Tests the regression loss of cosines. The value is compared with a direct computation, and the gradient with finite
 * differences. Other tests cover float vectors, several threads, zero vectors, and invalid arguments.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../support/grad_check.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/random.h"
#include "loss/regression_objective.h"

enum { MAX_B = 40, MAX_D = 26, MAX_CELLS = 2 * MAX_B * MAX_D, MAX_WORKSPACE = 1 << 17 };

static const size_t shapes[][2] = {{1, 1}, {1, 4}, {2, 3}, {5, 8}, {40, 26}}; /* {B, D} */

typedef struct problem {
    size_t B, D;
    double target[MAX_B];
    double v[MAX_CELLS], grad[MAX_CELLS]; /* [2 B, D] */
} problem;

static problem p;
static _Alignas(AOEI_ALIGN) unsigned char workspace[MAX_WORKSPACE];

static double evaluate(const double *v, double *grad, aoe_objective_result *r) {
    const aoei_example_batch b = {.B = p.B, .D = p.D, .arity = 2, .v64 = v, .grad64 = grad};
    aoe_objective_result local;
    aoe_error err = {0};
    r = r ? r : &local;
    if (aoei_regression_objective(p.target, &b, workspace, sizeof workspace, NULL, r, &err))
        fail_msg("%s", err.message);
    return r->total;
}

static double loss(void *arg, const double *v) {
    (void)arg;
    return evaluate(v, NULL, NULL);
}

static void set_up(size_t B, size_t D) {
    aoei_rng rng;
    memset(&p, 0, sizeof p);
    p.B = B;
    p.D = D;
    aoei_rng_init(&rng, 100 * B + D, AOEI_STREAM_TEST, 7);
    for (size_t i = 0; i < B; i++)
        p.target[i] = (double)i / (double)B;
    for (size_t i = 0; i < 2 * B * D; i++)
        p.v[i] = 1.5 * aoei_rng_normal(&rng);
}

static double cosine_of(const double *x, const double *y, size_t D) {
    double xy = 0, xx = 0, yy = 0;
    for (size_t k = 0; k < D; k++) {
        xy += x[k] * y[k];
        xx += x[k] * x[k];
        yy += y[k] * y[k];
    }
    return xy / sqrt(xx) / sqrt(yy);
}

static void values(void **state) {
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        aoe_objective_result r = {.total = 3, .cosine = 1};
        double want = 0;
        set_up(shapes[s][0], shapes[s][1]);
        for (size_t i = 0; i < p.B; i++)
            want += pow(cosine_of(p.v + 2 * i * p.D, p.v + (2 * i + 1) * p.D, p.D) - p.target[i], 2) / (double)p.B;
        evaluate(p.v, NULL, &r);
        assert_true(fabs(r.regression - want) <= 1e-14 * (1 + want));
        assert_true(r.total == r.regression && r.cosine == 0);
    }
}

static void finite_differences(void **state) {
    (void)state;
    for (size_t s = 1; s < sizeof shapes / sizeof *shapes; s++) {
        set_up(shapes[s][0], shapes[s][1]);
        evaluate(p.v, p.grad, NULL);
        test_gradient(loss, NULL, p.v, p.grad, 2 * p.B * p.D, 1e-7);
    }
}

/* Tests that float vectors give exactly the same loss as equal double vectors. Their gradient must be the gradient of
 * the double vectors, rounded to float. The results must be bitwise independent of the number of threads. */
static void floats(void **state) {
    (void)state;
    static float v[MAX_CELLS], grad[2][MAX_CELLS];
    set_up(40, 26);
    for (size_t i = 0; i < 2 * p.B * p.D; i++) {
        v[i] = (float)p.v[i];
        p.v[i] = (double)v[i];
    }
    for (size_t threads = 1; threads <= 2; threads++) {
        aoe_context *ctx = test_context(AOEI_TIER_C, threads);
        aoe_objective_result r, in_double;
        const aoei_example_batch b = {.B = p.B, .D = p.D, .arity = 2, .v = v, .grad = grad[threads - 1]};
        assert_int_equal(aoei_regression_objective(p.target, &b, workspace, sizeof workspace, ctx, &r, NULL), 0);
        evaluate(p.v, p.grad, &in_double);
        assert_memory_equal(&r, &in_double, sizeof r);
        for (size_t i = 0; i < 2 * p.B * p.D; i++)
            assert_true(grad[threads - 1][i] == (float)p.grad[i]);
        aoe_context_destroy(ctx);
    }
    assert_memory_equal(grad[0], grad[1], sizeof grad[0]);
}

/* Tests that a zero vector has cosine 0 and no gradient, and that a pair whose cosine equals its target has no
 * gradient. */
static void extremes(void **state) {
    (void)state;
    set_up(1, 4);
    memset(p.v, 0, 4 * sizeof *p.v);
    p.target[0] = 0.5;
    assert_true(evaluate(p.v, p.grad, NULL) == 0.25);
    for (size_t i = 0; i < 8; i++)
        assert_true(p.grad[i] == 0);
    set_up(1, 4);
    memcpy(p.v + 4, p.v, 4 * sizeof *p.v);
    p.target[0] = 1;
    assert_true(evaluate(p.v, p.grad, NULL) == 0);
    for (size_t i = 0; i < 8; i++)
        assert_true(p.grad[i] == 0);
}

static void invalid_arguments(void **state) {
    (void)state;
    aoe_objective_result r;
    aoe_error err = {0};
    set_up(2, 4);
    aoei_example_batch b = {.B = 2, .D = 4, .arity = 2, .v64 = p.v, .grad64 = p.grad};
    const size_t need = aoei_regression_objective_workspace(2, 4);
    assert_true(need > 0 && aoei_regression_objective_workspace(MAX_B, MAX_D) <= MAX_WORKSPACE);
    assert_int_equal(aoei_regression_objective(p.target, &b, workspace, need - 1, NULL, &r, &err), AOE_EARG);
    assert_int_equal(aoei_regression_objective(p.target, &b, workspace, need, NULL, &r, &err), 0);
    p.v[3 * 4 + 1] = (double)NAN;
    assert_int_equal(aoei_regression_objective(p.target, &b, workspace, need, NULL, &r, &err), AOE_ENUMERIC);
    assert_non_null(strstr(err.message, "pair 1: vector y"));
    b.arity = 3;
    assert_int_equal(aoei_regression_objective(p.target, &b, workspace, need, NULL, &r, &err), AOE_EARG);
    assert_int_equal(aoei_regression_objective_workspace(SIZE_MAX / 2, 4), 0);
    assert_int_equal(aoei_regression_objective_workspace(2, SIZE_MAX / 2), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),   cmocka_unit_test(finite_differences), cmocka_unit_test(floats),
        cmocka_unit_test(extremes), cmocka_unit_test(invalid_arguments),
    };
    return cmocka_run_group_tests_name("regression", tests, NULL, NULL);
}
