/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: nn/batchnorm
 * Tests batch normalization: values that were computed independently, the statistics of its output, finite differences,
 * and the projection of DiffCSE, which contains two batch normalizations.
 */
#include <math.h>
#include <string.h>

#include "../support/example_rows.h"
#include "../support/grad_check.h"
#include "../support/support.h"

#include "nn/batchnorm.h"
#include "nn/module_chain.h"

enum { ROWS = 6, COLS = 4, N = 3, D = 3, HIDDEN = 5 };

#define EPS 1e-5

static void independent_values(void **state) {
    (void)state;
    static const double want[COLS] = {-1.42748639, -0.643262197, 0.643262197, 0.483364992};
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++) {
        aoe_context *ctx = test_context((aoei_tier)tier, 1 + (size_t)tier % 3);
        aoei_tensor x = test_tensor(ROWS, COLS, 0, 1, 1), y = test_tensor_poisoned(ROWS, COLS, 0);
        const aoei_tensor none = {0};
        float rows[ROWS * COLS];
        for (size_t i = 0; i < ROWS * COLS; i++)
            rows[i] = (float)test_example_row(i / COLS, i % COLS);
        aoei_tensor_write(ctx, x, rows);
        aoei_batchnorm_forward(ctx, y, x, none, none, EPS);
        for (size_t c = 0; c < COLS; c++) {
            double mean = 0, squares = 0;
            assert_true(fabs((double)test_at(y, 0, c) - want[c]) < 1e-7);
            for (size_t r = 0; r < ROWS; r++) {
                mean += (double)test_at(y, r, c) / ROWS;
                squares += (double)test_at(y, r, c) * (double)test_at(y, r, c) / ROWS;
            }
            assert_true(fabs(mean) < 1e-6 && fabs(squares - 1) < 1e-4); /* epsilon makes the variance smaller than 1 */
        }
        test_tensor_free(x);
        test_tensor_free(y);
        aoe_context_destroy(ctx);
    }
}

/* The output does not depend on a common scale and shift of a column, except for the effect of epsilon. */
static void scale_and_shift(void **state) {
    (void)state;
    aoe_context *ctx = test_context(test_best_tier(), 1);
    aoei_tensor x = test_tensor(ROWS, COLS, 0, 1, 1), y = test_tensor_poisoned(ROWS, COLS, 0),
                z = test_tensor_poisoned(ROWS, COLS, 0);
    const aoei_tensor none = {0};
    float host[ROWS * COLS];
    aoei_tensor_read(ctx, host, x);
    aoei_batchnorm_forward(ctx, y, x, none, none, EPS);
    for (size_t i = 0; i < ROWS * COLS; i++)
        host[i] = 3 * host[i] - 2;
    aoei_tensor_write(ctx, x, host);
    aoei_batchnorm_forward(ctx, z, x, none, none, EPS);
    for (size_t i = 0; i < ROWS * COLS; i++)
        assert_true(fabs((double)test_at(y, i / COLS, i % COLS) - (double)test_at(z, i / COLS, i % COLS)) < 1e-4);
    test_tensor_free(x);
    test_tensor_free(y);
    test_tensor_free(z);
    aoe_context_destroy(ctx);
}

/* ------------------------------------------------------- projection of DiffCSE */

static const aoei_module projection[] = {
    {.kind = AOEI_MODULE_DENSE, .in = D, .out = HIDDEN, .no_bias = 1},
    {.kind = AOEI_MODULE_BATCHNORM, .in = HIDDEN, .out = HIDDEN, .activation = AOEI_DENSE_RELU},
    {.kind = AOEI_MODULE_DENSE, .in = HIDDEN, .out = D, .no_bias = 1},
    {.kind = AOEI_MODULE_BATCHNORM, .in = D, .out = D, .no_bias = 1},
};

enum {
    MODULES = 4,
    AT_FIRST = N * D,                 /* index of the first weight of the first dense layer in the inputs */
    AT_GAMMA = AT_FIRST + HIDDEN * D, /* weight of the first batch normalization */
    AT_BETA = AT_GAMMA + HIDDEN,      /* its bias */
    AT_SECOND = AT_BETA + HIDDEN,     /* weight of the second dense layer */
    INPUTS = AT_SECOND + D * HIDDEN
};

static double pick[N * D]; /* weights of the loss, which is the sum of pick * y */

/* Computes to[N, out] = from[N, in] w^T. */
static void dense(double *to, const double *from, const double *w, size_t in, size_t out) {
    for (size_t r = 0; r < N; r++)
        for (size_t o = 0; o < out; o++) {
            to[r * out + o] = 0;
            for (size_t k = 0; k < in; k++)
                to[r * out + o] += from[r * in + k] * w[o * in + k];
        }
}

static void normalize(double *x, size_t cols, const double *gamma, const double *beta, int relu) {
    for (size_t c = 0; c < cols; c++) {
        double mean = 0, var = 0;
        for (size_t r = 0; r < N; r++)
            mean += x[r * cols + c] / N;
        for (size_t r = 0; r < N; r++)
            var += (x[r * cols + c] - mean) * (x[r * cols + c] - mean) / N;
        for (size_t r = 0; r < N; r++) {
            double *v = &x[r * cols + c];
            *v = (*v - mean) / sqrt(var + EPS) * (gamma ? gamma[c] : 1) + (beta ? beta[c] : 0);
            *v = relu && *v < 0 ? 0 : *v;
        }
    }
}

static double loss(void *arg, const double *x) {
    double hidden[N * HIDDEN], y[N * D], sum = 0;
    (void)arg;
    dense(hidden, x, x + AT_FIRST, D, HIDDEN);
    normalize(hidden, HIDDEN, x + AT_GAMMA, x + AT_BETA, 1);
    dense(y, hidden, x + AT_SECOND, HIDDEN, D);
    normalize(y, D, NULL, NULL, 0);
    for (size_t i = 0; i < N * D; i++)
        sum += pick[i] * y[i];
    return sum;
}

static void projection_gradients(void **state) {
    (void)state;
    for (size_t threads = 1; threads <= 3; threads++) {
        aoe_context *ctx = test_context(test_best_tier(), threads);
        aoei_arena plan, arena;
        aoei_module_chain c;
        aoei_tensor w[AOEI_MODULE_WEIGHTS * MODULES] = {{0}}, g[AOEI_MODULE_WEIGHTS * MODULES] = {{0}};
        float host[INPUTS], picked[N * D];
        double x[INPUTS], grad[INPUTS];
        static double first[INPUTS];
        aoei_arena_measure(&plan);
        aoei_module_chain_layout(&c, projection, MODULES, N, D, 1, &plan);
        assert_int_equal(aoei_arena_create(&arena, plan.used, NULL), 0);
        aoei_module_chain_layout(&c, projection, MODULES, N, D, 1, &arena);
        test_fill_normal(host, INPUTS, 1, 5);
        test_fill_normal(picked, N * D, 1, 6);
        for (size_t i = 0; i < INPUTS; i++)
            x[i] = (double)host[i];
        for (size_t i = 0; i < N * D; i++)
            pick[i] = (double)picked[i];
        const struct {
            size_t index, at, rows, cols;
        } weights[] = {{0, AT_FIRST, HIDDEN, D},
                       {AOEI_MODULE_WEIGHTS, AT_GAMMA, 1, HIDDEN},
                       {AOEI_MODULE_WEIGHTS + 1, AT_BETA, 1, HIDDEN},
                       {2 * AOEI_MODULE_WEIGHTS, AT_SECOND, D, HIDDEN}};
        for (size_t i = 0; i < 4; i++) {
            w[weights[i].index] = test_tensor(weights[i].rows, weights[i].cols, 0, 1, 1);
            g[weights[i].index] = test_tensor(weights[i].rows, weights[i].cols, 0, 1, 1);
            aoei_tensor_write(ctx, w[weights[i].index], host + weights[i].at);
            aoei_tensor_zero(ctx, g[weights[i].index]);
        }
        aoei_tensor_write(ctx, c.value[0], host);
        aoei_module_chain_forward(ctx, &c, N, w, NULL);
        aoei_tensor_write(ctx, c.grad[MODULES], picked);
        aoei_module_chain_backward(ctx, &c, N, w, g, NULL);
        test_to_double(grad, c.grad[0]);
        for (size_t i = 0; i < 4; i++)
            test_to_double(grad + weights[i].at, g[weights[i].index]);
        test_gradient(loss, NULL, x, grad, INPUTS, 1e-5);
        if (threads == 1)
            memcpy(first, grad, sizeof first);
        assert_memory_equal(first, grad, sizeof first);
        for (size_t i = 0; i < 4; i++) {
            test_tensor_free(w[weights[i].index]);
            test_tensor_free(g[weights[i].index]);
        }
        aoei_arena_destroy(&arena);
        aoe_context_destroy(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(independent_values),
        cmocka_unit_test(scale_and_shift),
        cmocka_unit_test(projection_gradients),
    };
    return cmocka_run_group_tests_name("batchnorm", tests, NULL, NULL);
}
