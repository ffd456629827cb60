/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests all activation functions on every instruction set. Values in float32 and bf16 are compared with double
 * precision. An output in the memory of the input must have the same bits. The backward pass of a linear layer computes
 * the gradient, which is compared with finite differences. The bits of the results must not depend on the number of
 * threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/bert_reference.h"
#include "../support/grad_check.h"
#include "../support/support.h"

#include "nn/elementwise.h"
#include "nn/linear.h"

static const char *const names[] = {[AOEI_GELU] = "gelu",
                                    [AOEI_GELU_TANH] = "gelu (tanh)",
                                    [AOEI_SILU] = "silu",
                                    [AOEI_RELU] = "relu",
                                    [AOEI_QUICK_GELU] = "quick gelu"};

typedef struct weights {
    const double *weight; /* [n] weights of the loss, which is the sum of weight * gelu(x) */
    size_t n;
    aoei_activation form;
} weights;

static double loss(void *arg, const double *x) {
    const weights *w = arg;
    double sum = 0;
    for (size_t i = 0; i < w->n; i++)
        sum += w->weight[i] * bert_reference_activation(x[i], w->form);
    return sum;
}

/* Computes dx = (dy w) * gelu'(x) with the backward pass of a linear layer that has one output. dy is a column and w is
 * a row. */
static void backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dy, aoei_tensor w, aoei_tensor x,
                     aoei_activation form) {
    const aoei_linear_grads g = {.dx = dx, .activation = form, .gate = x};
    aoei_linear_backward(ctx, &g, dy, x, w);
}

static void check(const aoe_context *ctx, size_t rows, size_t cols, double sd, aoei_activation form) {
    const size_t n = rows * cols;
    aoei_tensor x = test_tensor(rows, cols, 0, sd, 1), dy = test_tensor(rows, 1, 0, 1, 2),
                w = test_tensor(1, cols, 0, 1, 3);
    aoei_tensor dx = test_tensor_poisoned(rows, cols, 0);
    double *in = malloc(n * sizeof *in), *weight = malloc(n * sizeof *weight), *grad = malloc(n * sizeof *grad);
    assert_true(in && weight && grad);
    for (size_t i = 0; i < n && form == AOEI_RELU; i++) /* finite differences are wrong near 0, where ReLU has no
                                                           derivative */
        aoei_f32(x)[i] += fabsf(aoei_f32(x)[i]) < 0.2f ? 1 : 0;
    test_to_double(in, x);
    for (size_t i = 0; i < n; i++)
        weight[i] = (double)(aoei_f32(dy)[i / cols] * aoei_f32(w)[i % cols]);
    backward(ctx, dx, dy, w, x, form);
    test_to_double(grad, dx);
    weights loss_of = {weight, n, form};
    test_gradient(loss, &loss_of, in, grad, n, TEST_GRAD_TOLERANCE);
    free(in);
    free(weight);
    free(grad);
    test_tensor_free(x);
    test_tensor_free(dy);
    test_tensor_free(w);
    test_tensor_free(dx);
}

static void gradients(const aoe_context *ctx) {
    for (int form = AOEI_GELU; form <= AOEI_QUICK_GELU; form++) {
        check(ctx, 1, form == AOEI_RELU ? 5 : 1, 1, (aoei_activation)form); /* the gradient must not be zero */
        check(ctx, 3, 13, 1, (aoei_activation)form);
        check(ctx, 2, 100, 4, (aoei_activation)form);
        check(ctx, 11, 3072, 2, (aoei_activation)form);
    }
}

static void test_gradients(void **state) {
    (void)state;
    test_each_tier(gradients);
}

static void check_values(const aoe_context *ctx, aoei_dtype type, aoei_activation form) {
    enum { ROWS = 13, COLS = 2731 }; /* so many elements that the library divides them into more than two tasks */
    aoei_tensor x = test_tensor_typed(type, ROWS, COLS, 0, 3, 1), y = test_poisoned_typed(type, ROWS, COLS, 0);
    double *want = malloc(2 * ROWS * COLS * sizeof *want), *bound = want + ROWS * COLS;
    assert_non_null(want);
    for (size_t i = 0; i < ROWS * COLS; i++) {
        const double v = (double)test_at(x, i / COLS, i % COLS);
        want[i] = bert_reference_activation(v, form);
        /* GELU is x Phi(x). For negative x, the kernel computes Phi(x) as a difference of nearly equal numbers.
         * Therefore its absolute error is bounded, but its relative error is not, and the bound contains a term
         * proportional to |x|. The other terms of the bound cover a few roundings of the result and the rounding to
         * bf16. */
        bound[i] = 8 * 0x1p-24 * fabs(want[i]) + 4 * 0x1p-24 * fabs(v) * 0.5 * (v < 0 ? 1 : 0);
        bound[i] += type == AOEI_BF16 ? TEST_BF16_ROUNDOFF * fabs(want[i]) : 0;
    }
    aoei_activation_forward(ctx, y, x, form);
    test_within(y, want, bound, names[form]);
    aoei_activation_forward(ctx, x, x, form);
    test_same_bits(x, y);
    free(want);
    test_tensor_free(x);
    test_tensor_free(y);
}

static void values(const aoe_context *ctx) {
    for (int form = AOEI_GELU; form <= AOEI_QUICK_GELU; form++) {
        check_values(ctx, AOEI_F32, (aoei_activation)form);
        check_values(ctx, AOEI_BF16, (aoei_activation)form);
    }
}

static void test_values(void **state) {
    (void)state;
    test_each_tier(values);
}

static void test_threads(void **state) {
    (void)state;
    enum { ROWS = 70, COLS = 777 };
    for (int k = 0; k < 2 * ((int)test_best_tier() + 1); k++) {
        const aoei_dtype type = k % 2 ? AOEI_BF16 : AOEI_F32;
        aoei_tensor x = test_tensor_typed(type, ROWS, COLS, 0, 1, 1), dy = test_tensor_typed(type, ROWS, 1, 0, 1, 2);
        aoei_tensor w = test_tensor(1, COLS, 0, 1, 3), y[3], dx[3];
        for (size_t threads = 1; threads <= 3; threads++) {
            aoe_context *ctx = test_context((aoei_tier)(k / 2), threads);
            aoei_tensor workspace =
                test_tensor_poisoned(1, aoei_linear_workspace(ctx, type, ROWS, 1, COLS) / sizeof(float) + 1, 0);
            const size_t i = threads - 1;
            y[i] = test_poisoned_typed(type, ROWS, COLS, 0);
            dx[i] = test_poisoned_typed(type, ROWS, COLS, 0);
            const aoei_linear_grads g = {.dx = dx[i], .activation = AOEI_GELU, .gate = x, .workspace = workspace};
            aoei_activation_forward(ctx, y[i], x, AOEI_GELU);
            aoei_linear_backward(ctx, &g, dy, x, w);
            test_same_bits(y[0], y[i]);
            test_same_bits(dx[0], dx[i]);
            test_tensor_free(workspace);
            aoe_context_destroy(ctx);
        }
        for (size_t i = 0; i < 3; i++) {
            test_tensor_free(y[i]);
            test_tensor_free(dx[i]);
        }
        test_tensor_free(x);
        test_tensor_free(dy);
        test_tensor_free(w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients), cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
