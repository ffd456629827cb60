/* SPDX-License-Identifier: MIT
 * covers: nn/layernorm
 * Tests LayerNorm in float32 and bf16. The forward pass is compared with double precision, and the backward pass with
 * finite differences. The gradients of gamma and beta must be added to the stored values. The bits of the results must
 * not depend on the number of threads.
 * tags: threads
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"

#include "nn/layernorm.h"

#define EPS 1e-12

typedef struct shape {
    size_t rows, cols;
    const double *weight; /* [rows, cols] weights of the loss, which is the sum of weight * y */
    double eps;
} shape;

static void reference(double *y, const double *x, const double *gamma, const double *beta, const shape *s) {
    for (size_t r = 0; r < s->rows; r++) {
        const double *xr = x + r * s->cols;
        double mean = 0, variance = 0;
        for (size_t c = 0; c < s->cols; c++)
            mean += xr[c] / (double)s->cols;
        for (size_t c = 0; c < s->cols; c++)
            variance += (xr[c] - mean) * (xr[c] - mean) / (double)s->cols;
        for (size_t c = 0; c < s->cols; c++)
            y[r * s->cols + c] = (xr[c] - mean) / sqrt(variance + s->eps) * gamma[c] + beta[c];
    }
}

/* Computes the loss in double. `in` is the concatenation of x, gamma and beta. */
static double loss(void *arg, const double *in) {
    const shape *s = arg;
    const size_t n = s->rows * s->cols;
    double *y = malloc(n * sizeof *y), sum = 0;
    reference(y, in, in + n, in + n + s->cols, s);
    for (size_t i = 0; i < n; i++)
        sum += s->weight[i] * y[i];
    free(y);
    return sum;
}

static void check(const aoe_context *ctx, aoei_dtype type, size_t rows, size_t cols, size_t ld, double eps) {
    aoei_tensor x = test_tensor_typed(type, rows, cols, ld, 1.5, 1), gamma = test_tensor(1, cols, 0, 1, 2),
                beta = test_tensor(1, cols, 0, 1, 3);
    aoei_tensor dy = test_tensor(rows, cols, ld, 1, 4), y = test_poisoned_typed(type, rows, cols, ld);
    aoei_tensor stats = test_tensor_poisoned(rows, 2, 0), dx = test_tensor_poisoned(rows, cols, ld);
    aoei_tensor dgamma = test_tensor_poisoned(1, cols, 0), dbeta = test_tensor_poisoned(1, cols, 0);
    const size_t n = rows * cols, total = n + 2 * cols;
    double *in = malloc(total * sizeof *in), *grad = malloc(total * sizeof *grad), *weight = malloc(n * sizeof *weight);
    double *want = malloc(n * sizeof *want);
    test_to_double(in, x);
    test_to_double(in + n, gamma);
    test_to_double(in + n + cols, beta);
    test_to_double(weight, dy);
    shape s = {rows, cols, weight, eps};

    aoei_layernorm_forward(ctx, y, stats, x, gamma, beta, eps);
    reference(want, in, in + n, in + n + cols, &s);
    test_close(y, want, 3e-7 + (type == AOEI_BF16 ? TEST_BF16_ROUNDOFF : 0));

    aoei_tensor_zero(ctx, dgamma);
    aoei_tensor_zero(ctx, dbeta);
    aoei_layernorm_backward(ctx, dx, dgamma, dbeta, dy, x, stats, gamma);
    test_to_double(grad, dx);
    test_to_double(grad + n, dgamma);
    test_to_double(grad + n + cols, dbeta);
    test_gradient(loss, &s, in, grad, total, TEST_GRAD_TOLERANCE);

    free(want);
    free(weight);
    free(grad);
    free(in);
    const aoei_tensor all[] = {x, gamma, beta, dy, y, stats, dx, dgamma, dbeta};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        test_tensor_free(all[i]);
}

static void gradients(const aoe_context *ctx) {
    for (int type = AOEI_F32; type <= AOEI_BF16; type++) {
        check(ctx, (aoei_dtype)type, 1, 2, 0, EPS);
        check(ctx, (aoei_dtype)type, 3, 7, 9, 1e-5);
        check(ctx, (aoei_dtype)type, 5, 33, 0, EPS);
        check(ctx, (aoei_dtype)type, 7, 128, 384, 1e-5);
        check(ctx, (aoei_dtype)type, 2, 768, 0, EPS);
    }
}

static void test_gradients(void **state) {
    (void)state;
    test_each_tier(gradients);
}

/* Results of the forward and the backward pass for one input. */
typedef struct result {
    aoei_tensor y, stats, dx, dgamma, dbeta;
} result;

static result run(const aoe_context *ctx, aoei_tensor x, aoei_tensor dy, aoei_tensor gamma, aoei_tensor beta) {
    result r = {test_poisoned_typed(x.type, x.rows, x.cols, x.ld), test_tensor_poisoned(x.rows, 2, 0),
                test_tensor_poisoned(x.rows, x.cols, x.ld), test_tensor(1, x.cols, 0, 1, 5),
                test_tensor(1, x.cols, 0, 1, 6)};
    aoei_layernorm_forward(ctx, r.y, r.stats, x, gamma, beta, EPS);
    aoei_layernorm_backward(ctx, r.dx, r.dgamma, r.dbeta, dy, x, r.stats, gamma);
    return r;
}

static void run_free(result r) {
    test_tensor_free(r.y);
    test_tensor_free(r.stats);
    test_tensor_free(r.dx);
    test_tensor_free(r.dgamma);
    test_tensor_free(r.dbeta);
}

static void assert_equal_results(result a, result b) {
    test_same_bits(a.y, b.y);
    test_same_bits(a.stats, b.stats);
    test_same_bits(a.dx, b.dx);
    test_same_bits(a.dgamma, b.dgamma);
    test_same_bits(a.dbeta, b.dbeta);
}

static void test_threads(void **state) {
    (void)state;
    for (int k = 0; k < 2 * ((int)test_best_tier() + 1); k++) {
        aoei_tensor x = test_tensor_typed(k % 2 ? AOEI_BF16 : AOEI_F32, 150, 200, 0, 1, 1);
        aoei_tensor dy = test_tensor(150, 200, 0, 1, 2);
        aoei_tensor gamma = test_tensor(1, 200, 0, 1, 3), beta = test_tensor(1, 200, 0, 1, 4);
        aoe_context *one = test_context((aoei_tier)(k / 2), 1);
        result want = run(one, x, dy, gamma, beta);
        for (size_t threads = 2; threads <= 3; threads++) {
            aoe_context *ctx = test_context((aoei_tier)(k / 2), threads);
            result got = run(ctx, x, dy, gamma, beta);
            assert_equal_results(want, got);
            run_free(got);
            aoe_context_destroy(ctx);
        }
        run_free(want);
        aoe_context_destroy(one);
        test_tensor_free(x);
        test_tensor_free(dy);
        test_tensor_free(gamma);
        test_tensor_free(beta);
    }
}

/* Tests that two calls, each for a part of the rows, give the same bits as one call for all rows. In the two calls, the
 * outputs are stored in the memory of the inputs. */
static void parts_of_type(const aoe_context *ctx, aoei_dtype type) {
    aoei_tensor x = test_tensor_typed(type, 20, 75, 0, 1, 1), dy = test_tensor(20, 75, 0, 1, 2);
    aoei_tensor gamma = test_tensor(1, 75, 0, 1, 3), beta = test_tensor(1, 75, 0, 1, 4);
    result whole = run(ctx, x, dy, gamma, beta), parts = run(ctx, x, dy, gamma, beta);
    test_fill_normal(parts.dgamma.data, 75, 1, 5 * 65536);
    test_fill_normal(parts.dbeta.data, 75, 1, 6 * 65536);
    for (size_t first = 0; first < 20; first = first ? 20 : 13) {
        const size_t n = first ? 7 : 13;
        aoei_layernorm_backward(ctx, aoei_tensor_rows(parts.dx, first, n), parts.dgamma, parts.dbeta,
                                aoei_tensor_rows(dy, first, n), aoei_tensor_rows(x, first, n),
                                aoei_tensor_rows(parts.stats, first, n), gamma);
    }
    assert_equal_results(whole, parts);

    aoei_tensor none = {0};
    memcpy(parts.y.data, x.data, 20 * 75 * aoei_dtype_size(type));
    aoei_layernorm_forward(ctx, parts.y, none, parts.y, gamma, beta, EPS);
    test_same_bits(whole.y, parts.y);
    memcpy(parts.dx.data, dy.data, 20 * 75 * sizeof(float));
    aoei_layernorm_backward(ctx, parts.dx, parts.dgamma, parts.dbeta, parts.dx, x, whole.stats, gamma);
    test_same_bits(whole.dx, parts.dx);
    aoei_layernorm_backward(ctx, none, parts.dgamma, parts.dbeta, dy, x, whole.stats, gamma); /* dx is not requested */
    run_free(whole);
    run_free(parts);
    test_tensor_free(x);
    test_tensor_free(dy);
    test_tensor_free(gamma);
    test_tensor_free(beta);
}

static void parts_and_aliases(const aoe_context *ctx) {
    parts_of_type(ctx, AOEI_F32);
    parts_of_type(ctx, AOEI_BF16);
}

static void test_parts_and_aliases(void **state) {
    (void)state;
    test_each_tier(parts_and_aliases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_parts_and_aliases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
