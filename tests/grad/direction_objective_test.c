/* SPDX-License-Identifier: MIT
 * Compares the gradient of in-batch negatives in several directions with finite differences in double, for each set of
 * kernels. The guide is constant, so it must not contribute to the gradient.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/grad_check.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/random.h"
#include "loss/direction_objective.h"

enum { MAX_B = 27, MAX_D = 26, MAX_ROWS = 3 * MAX_B, MAX_WORKSPACE = 1 << 19 };

typedef struct problem {
    const aoe_context *ctx;
    size_t B, D, arity;
    aoei_direction_options o;
    double grad[MAX_ROWS * MAX_D];
} problem;

static double evaluate(problem *p, const double *v, double *grad) {
    static _Alignas(AOEI_ALIGN) unsigned char workspace[MAX_WORKSPACE];
    const aoei_example_batch b = {.B = p->B, .D = p->D, .arity = p->arity, .v64 = v, .grad64 = grad};
    aoe_objective_result r;
    aoe_error err = {0};
    if (aoei_direction_objective(&p->o, &b, workspace, sizeof workspace, p->ctx, &r, &err))
        fail_msg("%s", err.message);
    return r.total;
}

static double loss(void *arg, const double *v) {
    return evaluate(arg, v, NULL);
}

static void check_shape(const aoe_context *ctx, size_t B, size_t D, size_t arity) {
    static double v[MAX_ROWS * MAX_D];
    static float guide[MAX_ROWS * MAX_D];
    static problem p;
    const float *rows[MAX_ROWS];
    aoei_guide g = {.dims = D, .vectors = rows, .margin = 0.1};
    aoei_rng rng;
    aoei_rng_init(&rng, B, AOEI_STREAM_TEST, (uint32_t)D);
    for (size_t i = 0; i < arity * B * D; i++) {
        v[i] = aoei_rng_normal(&rng);
        guide[i] = (float)aoei_rng_normal(&rng);
        rows[i / D] = guide + i / D * D;
    }
    p = (problem){.ctx = ctx, .B = B, .D = D, .arity = arity};
    for (unsigned directions = 1; directions <= AOE_ALL_DIRECTIONS; directions += 2)
        for (int guided = 0; guided < 2; guided++) {
            const int joint = guided || directions & (AOE_QUERY_TO_QUERY | AOE_DOCUMENT_TO_DOCUMENT);
            p.o = (aoei_direction_options){
                .directions = directions, .joint = joint, .weight = 0.7, .tau = 0.3, .guide = guided ? &g : NULL};
            evaluate(&p, v, p.grad);
            test_gradient(loss, &p, v, p.grad, arity * B * D, 1e-7);
        }
}

static void check_tier(const aoe_context *ctx) {
    check_shape(ctx, 2, 3, 2);
    check_shape(ctx, 5, 8, 3);
    check_shape(ctx, MAX_B, MAX_D, 2);
}

static void finite_differences(void **state) {
    (void)state;
    assert_true(aoei_direction_objective_workspace(MAX_B, MAX_D, 3, MAX_D) <= MAX_WORKSPACE);
    test_each_tier(check_tier);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(finite_differences)};
    return cmocka_run_group_tests_name("direction_objective", tests, NULL, NULL);
}
