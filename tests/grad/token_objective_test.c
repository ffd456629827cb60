/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: loss/token_objective
 * Tests the loss of IS-BERT against values that were computed with NumPy, and its gradients by finite differences.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "base/alloc.h"
#include "loss/token_objective.h"

enum { TOKENS = 5, D = 4 };
static const uint32_t offsets[] = {0, 2, 3, TOKENS};

static double loss(aoe_context *ctx, const double *v, double *grad) {
    const aoei_token_vectors b = {.texts = 3, .tokens = TOKENS, .D = D, .offsets = offsets, .v64 = v, .grad64 = grad};
    const size_t bytes = aoei_token_objective_workspace(3, TOKENS, D);
    void *workspace = aoei_aligned(bytes);
    aoe_objective_result r;
    aoe_error err;
    if (aoei_token_objective(&b, workspace, bytes, ctx, &r, &err))
        fail_msg("%s", err.message);
    aoei_aligned_free(workspace);
    assert_true(r.total <= r.contrastive && r.total >= r.contrastive && r.positive_pairs == 3);
    return r.total;
}

/* Row i and component k of the example vectors. */
static void fill(double *v) {
    for (size_t i = 0; i < TOKENS; i++)
        for (size_t k = 0; k < D; k++)
            v[i * D + k] = ((double)((5 * i + 3 * k + i * k) % 13) - 6) / 4;
}

static void equals_stored_values(void **state) {
    (void)state;
    double v[TOKENS * D], grad[TOKENS * D];
    aoe_context *ctx = test_context(AOEI_TIER_C, 2);
    fill(v);
    assert_true(fabs(loss(ctx, v, grad) - -0.394156647333) < 1e-11);
    assert_true(fabs(grad[0] - 0.080416981) < 1e-9);
    memset(v, 0, sizeof v);
    assert_true(fabs(loss(ctx, v, grad)) < 1e-15); /* all vectors are zero */
    for (size_t i = 0; i < (size_t)TOKENS * D; i++)
        assert_true(fabs(grad[i]) < 1e-15);
    aoe_context_destroy(ctx);
}

static void gradients_equal_differences(void **state) {
    (void)state;
    double v[TOKENS * D], grad[TOKENS * D], unused[TOKENS * D];
    aoe_context *ctx = test_context(AOEI_TIER_C, 2);
    fill(v);
    loss(ctx, v, grad);
    for (size_t i = 0; i < (size_t)TOKENS * D; i++) {
        const double value = v[i], h = 1e-5;
        v[i] = value + h;
        const double high = loss(ctx, v, unused);
        v[i] = value - h;
        const double low = loss(ctx, v, unused);
        v[i] = value;
        assert_true(fabs((high - low) / (2 * h) - grad[i]) < 1e-8);
    }
    aoe_context_destroy(ctx);
}

/* The gradient in float32 is that in float64, rounded once, for any number of threads. */
static void float_vectors_give_the_same_gradient(void **state) {
    (void)state;
    double v[TOKENS * D], grad[TOKENS * D];
    float narrow[TOKENS * D], got[TOKENS * D];
    fill(v);
    for (size_t i = 0; i < (size_t)TOKENS * D; i++)
        narrow[i] = (float)v[i]; /* exact */
    for (size_t threads = 1; threads <= 3; threads += 2) {
        aoe_context *ctx = test_context(AOEI_TIER_C, threads);
        const aoei_token_vectors b = {
            .texts = 3, .tokens = TOKENS, .D = D, .offsets = offsets, .v = narrow, .grad = got};
        const size_t bytes = aoei_token_objective_workspace(3, TOKENS, D);
        void *workspace = aoei_aligned(bytes);
        aoe_objective_result r;
        loss(ctx, v, grad);
        assert_int_equal(aoei_token_objective(&b, workspace, bytes, ctx, &r, NULL), AOE_OK);
        for (size_t i = 0; i < (size_t)TOKENS * D; i++) {
            const float want = (float)grad[i];
            assert_memory_equal(&got[i], &want, sizeof want);
        }
        aoei_aligned_free(workspace);
        aoe_context_destroy(ctx);
    }
}

static void rejects_wrong_batches(void **state) {
    (void)state;
    double v[TOKENS * D], grad[TOKENS * D];
    aoe_context *ctx = test_context(AOEI_TIER_C, 1);
    aoei_token_vectors b = {.texts = 1, .tokens = 2, .D = D, .offsets = offsets, .v64 = v, .grad64 = grad};
    const size_t bytes = aoei_token_objective_workspace(3, TOKENS, D);
    void *workspace = aoei_aligned(bytes);
    aoe_objective_result r;
    aoe_error err;
    fill(v);
    assert_int_equal(aoei_token_objective(&b, workspace, bytes, ctx, &r, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "at least two texts, not 1"));
    b.texts = 3;
    b.tokens = TOKENS;
    v[4 * D] = (double)NAN;
    assert_int_equal(aoei_token_objective(&b, workspace, bytes, ctx, &r, &err), AOE_ENUMERIC);
    assert_non_null(strstr(err.message, "is not finite"));
    aoei_aligned_free(workspace);
    aoe_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_stored_values), cmocka_unit_test(gradients_equal_differences),
        cmocka_unit_test(float_vectors_give_the_same_gradient), cmocka_unit_test(rejects_wrong_batches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
