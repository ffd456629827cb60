/* SPDX-License-Identifier: MIT
 * The gradient of GELU against finite differences in every tier, in place, and the same
 * bits for any number of threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"

typedef struct weights {
    const double *weight; /* [n] of the loss: sum of weight * gelu(x) */
    size_t n;
} weights;

static double loss(void *arg, const double *x) {
    const weights *w = arg;
    double sum = 0;
    for (size_t i = 0; i < w->n; i++)
        sum += w->weight[i] * x[i] * 0.5 * erfc(-x[i] * sqrt(0.5));
    return sum;
}

static void check(const aoe_context *ctx, size_t rows, size_t cols, double sd) {
    const size_t n = rows * cols;
    aoei_tensor x = test_tensor(rows, cols, 0, sd, 1), dy = test_tensor(rows, cols, 0, 1, 2);
    aoei_tensor dx = test_tensor_poisoned(rows, cols, 0);
    double *in = malloc(n * sizeof *in), *weight = malloc(n * sizeof *weight), *grad = malloc(n * sizeof *grad);
    test_to_double(in, x);
    test_to_double(weight, dy);
    aoei_gelu_backward(ctx, dx, dy, x);
    test_to_double(grad, dx);
    weights w = {weight, n};
    test_gradient(loss, &w, in, grad, n, TEST_GRAD_TOLERANCE);
    aoei_gelu_backward(ctx, dy, dy, x);
    test_same_bits(dx, dy);
    free(in);
    free(weight);
    free(grad);
    test_tensor_free(x);
    test_tensor_free(dy);
    test_tensor_free(dx);
}

static void gradients(const aoe_context *ctx) {
    check(ctx, 1, 1, 1);
    check(ctx, 3, 13, 1);
    check(ctx, 2, 100, 4);
    check(ctx, 11, 3072, 2);
}

static void test_gradients(void **state) {
    (void)state;
    test_each_tier(gradients);
}

static void test_threads(void **state) {
    (void)state;
    aoei_tensor x = test_tensor(70, 777, 0, 1, 1), dy = test_tensor(70, 777, 0, 1, 2);
    for (aoei_tier tier = AOEI_TIER_C; tier <= AOEI_TIER_AVX512; tier++) {
        aoei_tensor dx[3];
        for (size_t k = 0; k < 3; k++) {
            dx[k] = test_tensor_poisoned(70, 777, 0);
            aoe_context *ctx = test_context(tier, k + 1);
            if (ctx)
                aoei_gelu_backward(ctx, dx[k], dy, x);
            aoe_context_destroy(ctx);
            test_same_bits(dx[0], dx[k]);
        }
        for (size_t k = 0; k < 3; k++)
            test_tensor_free(dx[k]);
    }
    test_tensor_free(x);
    test_tensor_free(dy);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients), cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
