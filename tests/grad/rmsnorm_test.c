/* SPDX-License-Identifier: MIT
 * covers: nn/rmsnorm
 * Tests RMSNorm in float32 and bf16. The forward pass is compared with double precision, and the backward pass with
 * finite differences. The gradient of gamma must be added to the stored value. The bits of the results must not depend
 * on the number of threads.
 * tags: threads
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"

#include "nn/rmsnorm.h"

#define EPS 1e-12

typedef struct shape {
    size_t rows, cols;
    const double *weight; /* [rows, cols] weights of the loss, which is the sum of weight * y */
    double eps;
} shape;

static void reference(double *y, const double *x, const double *gamma, const shape *s) {
    for (size_t r = 0; r < s->rows; r++) {
        const double *xr = x + r * s->cols;
        double square = 0;
        for (size_t c = 0; c < s->cols; c++)
            square += xr[c] * xr[c] / (double)s->cols;
        for (size_t c = 0; c < s->cols; c++)
            y[r * s->cols + c] = xr[c] / sqrt(square + s->eps) * gamma[c];
    }
}

/* Computes the loss in double. `in` is the concatenation of x and gamma. */
static double loss(void *arg, const double *in) {
    const shape *s = arg;
    const size_t n = s->rows * s->cols;
    double *y = malloc(n * sizeof *y), sum = 0;
    reference(y, in, in + n, s);
    for (size_t i = 0; i < n; i++)
        sum += s->weight[i] * y[i];
    free(y);
    return sum;
}

static void check(const aoe_context *ctx, aoei_dtype type, size_t rows, size_t cols, size_t ld, double eps) {
    aoei_tensor x = test_tensor_typed(type, rows, cols, ld, 1.5, 1), gamma = test_tensor(1, cols, 0, 1, 2);
    aoei_tensor dy = test_tensor(rows, cols, ld, 1, 4), y = test_poisoned_typed(type, rows, cols, ld);
    aoei_tensor stats = test_tensor_poisoned(rows, 1, 0), dx = test_tensor_poisoned(rows, cols, ld);
    aoei_tensor dgamma = test_tensor_poisoned(1, cols, 0);
    const size_t n = rows * cols, total = n + cols;
    double *in = malloc(total * sizeof *in), *grad = malloc(total * sizeof *grad), *weight = malloc(n * sizeof *weight);
    double *want = malloc(n * sizeof *want);
    test_to_double(in, x);
    test_to_double(in + n, gamma);
    test_to_double(weight, dy);
    shape s = {rows, cols, weight, eps};

    aoei_rmsnorm_forward(ctx, y, stats, x, gamma, 0, eps);
    reference(want, in, in + n, &s);
    test_close(y, want, 3e-7 + (type == AOEI_BF16 ? TEST_BF16_ROUNDOFF : 0));

    aoei_tensor_zero(ctx, dgamma);
    aoei_rmsnorm_backward(ctx, dx, dgamma, dy, x, stats, gamma, 0);
    test_to_double(grad, dx);
    test_to_double(grad + n, dgamma);
    test_gradient(loss, &s, in, grad, total, TEST_GRAD_TOLERANCE);

    free(want);
    free(weight);
    free(grad);
    free(in);
    const aoei_tensor all[] = {x, gamma, dy, y, stats, dx, dgamma};
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
    aoei_tensor y, stats, dx, dgamma;
} result;

static result run(const aoe_context *ctx, aoei_tensor x, aoei_tensor dy, aoei_tensor gamma) {
    result r = {test_poisoned_typed(x.type, x.rows, x.cols, x.ld), test_tensor_poisoned(x.rows, 1, 0),
                test_tensor_poisoned(x.rows, x.cols, x.ld), test_tensor(1, x.cols, 0, 1, 5)};
    aoei_rmsnorm_forward(ctx, r.y, r.stats, x, gamma, 0, EPS);
    aoei_rmsnorm_backward(ctx, r.dx, r.dgamma, dy, x, r.stats, gamma, 0);
    return r;
}

static void run_free(result r) {
    test_tensor_free(r.y);
    test_tensor_free(r.stats);
    test_tensor_free(r.dx);
    test_tensor_free(r.dgamma);
}

static void assert_equal_results(result a, result b) {
    test_same_bits(a.y, b.y);
    test_same_bits(a.stats, b.stats);
    test_same_bits(a.dx, b.dx);
    test_same_bits(a.dgamma, b.dgamma);
}

static void test_threads(void **state) {
    (void)state;
    for (int k = 0; k < 2 * ((int)test_best_tier() + 1); k++) {
        aoei_tensor x = test_tensor_typed(k % 2 ? AOEI_BF16 : AOEI_F32, 150, 200, 0, 1, 1);
        aoei_tensor dy = test_tensor(150, 200, 0, 1, 2);
        aoei_tensor gamma = test_tensor(1, 200, 0, 1, 3);
        aoe_context *one = test_context((aoei_tier)(k / 2), 1);
        result want = run(one, x, dy, gamma);
        for (size_t threads = 2; threads <= 3; threads++) {
            aoe_context *ctx = test_context((aoei_tier)(k / 2), threads);
            result got = run(ctx, x, dy, gamma);
            assert_equal_results(want, got);
            run_free(got);
            aoe_context_destroy(ctx);
        }
        run_free(want);
        aoe_context_destroy(one);
        test_tensor_free(x);
        test_tensor_free(dy);
        test_tensor_free(gamma);
    }
}

/* Tests that two calls, each for a part of the rows, give the same bits as one call for all rows. In the two calls, the
 * outputs are stored in the memory of the inputs. */
static void parts_of_type(const aoe_context *ctx, aoei_dtype type) {
    aoei_tensor x = test_tensor_typed(type, 20, 75, 0, 1, 1), dy = test_tensor(20, 75, 0, 1, 2);
    aoei_tensor gamma = test_tensor(1, 75, 0, 1, 3);
    result whole = run(ctx, x, dy, gamma), parts = run(ctx, x, dy, gamma);
    test_fill_normal(parts.dgamma.data, 75, 1, 5 * 65536);
    for (size_t first = 0; first < 20; first = first ? 20 : 13) {
        const size_t n = first ? 7 : 13;
        aoei_rmsnorm_backward(ctx, aoei_tensor_rows(parts.dx, first, n), parts.dgamma, aoei_tensor_rows(dy, first, n),
                              aoei_tensor_rows(x, first, n), aoei_tensor_rows(parts.stats, first, n), gamma, 0);
    }
    assert_equal_results(whole, parts);

    aoei_tensor none = {0};
    memcpy(parts.y.data, x.data, 20 * 75 * aoei_dtype_size(type));
    aoei_rmsnorm_forward(ctx, parts.y, none, parts.y, gamma, 0, EPS);
    test_same_bits(whole.y, parts.y);
    memcpy(parts.dx.data, dy.data, 20 * 75 * sizeof(float));
    aoei_rmsnorm_backward(ctx, parts.dx, parts.dgamma, parts.dx, x, whole.stats, gamma, 0);
    test_same_bits(whole.dx, parts.dx);
    aoei_rmsnorm_backward(ctx, none, parts.dgamma, dy, x, whole.stats, gamma, 0); /* dx is not requested */
    run_free(whole);
    run_free(parts);
    test_tensor_free(x);
    test_tensor_free(dy);
    test_tensor_free(gamma);
}

/* Tests rows with several groups, and factors 1 + gamma. They must give the bits of a call in which every group is a
 * row and gamma contains the factors. */
static void groups_of_type(const aoe_context *ctx, aoei_dtype type) {
    enum { N = 9, GROUPS = 3, D = 20 };
    aoei_tensor x = test_tensor_typed(type, N, GROUPS * D, 0, 1, 1), dy = test_tensor(N, GROUPS * D, 0, 1, 2);
    aoei_tensor gamma = test_tensor(1, D, 0, 1, 3), factors = test_tensor(1, D, 0, 1, 3);
    for (size_t i = 0; i < D; i++)
        ((float *)factors.data)[i] += 1;
    result whole = run(ctx, aoei_tensor_slice(x, 0, N * GROUPS, D), aoei_tensor_slice(dy, 0, N * GROUPS, D), factors);
    aoei_tensor y = test_poisoned_typed(type, N, GROUPS * D, GROUPS * D + 7),
                stats = test_tensor_poisoned(N, GROUPS, 0);
    aoei_tensor dx = test_tensor_poisoned(N, GROUPS * D, GROUPS * D + 5), dgamma = test_tensor(1, D, 0, 0, 1);
    aoei_tensor compact = test_poisoned_typed(type, N, GROUPS * D, 0),
                dcompact = test_tensor_poisoned(N, GROUPS * D, 0);
    aoei_tensor_zero(ctx, dgamma);
    aoei_tensor_zero(ctx, whole.dgamma);
    aoei_rmsnorm_backward(ctx, (aoei_tensor){0}, whole.dgamma, aoei_tensor_slice(dy, 0, N * GROUPS, D),
                          aoei_tensor_slice(x, 0, N * GROUPS, D), whole.stats, factors, 0);
    aoei_rmsnorm_forward(ctx, y, stats, x, gamma, 1, EPS);
    aoei_rmsnorm_backward(ctx, dx, dgamma, dy, x, stats, gamma, 1);
    aoei_tensor_copy(ctx, compact, y);
    aoei_tensor_copy(ctx, dcompact, dx);
    assert_memory_equal(compact.data, whole.y.data, N * GROUPS * D * aoei_dtype_size(type));
    assert_memory_equal(dcompact.data, whole.dx.data, N * GROUPS * D * sizeof(float));
    test_same_bits(dgamma, whole.dgamma);
    aoei_tensor *const all[] = {&x, &dy, &gamma, &factors, &y, &stats, &dx, &dgamma, &compact, &dcompact};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        test_tensor_free(*all[i]);
    run_free(whole);
}

static void groups(const aoe_context *ctx) {
    groups_of_type(ctx, AOEI_F32);
    groups_of_type(ctx, AOEI_BF16);
}

static void parts_and_aliases(const aoe_context *ctx) {
    parts_of_type(ctx, AOEI_F32);
    parts_of_type(ctx, AOEI_BF16);
}

static void test_parts_and_aliases(void **state) {
    (void)state;
    test_each_tier(parts_and_aliases);
}

static void test_groups(void **state) {
    (void)state;
    test_each_tier(groups);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_parts_and_aliases),
        cmocka_unit_test(test_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
