/* SPDX-License-Identifier: MIT
 * Tests the LayerNorm kernels of every instruction set against double precision. The tests cover lengths, strides,
 * alignments, outputs in the memory of inputs, and special values. The result for a row must not depend on other rows.
 * The gradients of gamma and beta must have the same bits in one call and in several calls.
 */
#include <math.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { ROWS = 3, LONGEST = 2 * 32 + 1, GAP = 3 };

static const size_t more_cols[] = {127, 128, 129, 384, 768, 1023};
enum { N_COLS = LONGEST + sizeof more_cols / sizeof *more_cols };

/* Returns the i-th number of columns to test. These are 1, 2, ..., LONGEST, then the elements of more_cols. */
static size_t cols_of(size_t i) {
    return i < LONGEST ? i + 1 : more_cols[i - LONGEST];
}

typedef struct row_stats {
    double mean, rstd;
} row_stats;

static row_stats stats_of(const float *x, size_t n, double eps) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < n; i++)
        mean += (double)x[i];
    mean /= (double)n;
    for (size_t i = 0; i < n; i++)
        variance += ((double)x[i] - mean) * ((double)x[i] - mean);
    return (row_stats){mean, 1 / sqrt(variance / (double)n + eps)};
}

/* Checks the forward pass. The error bound covers rounding the mean to float, which changes it by at most half an eps
 * of |mean|, and at most five later roundings. */
static void check_forward(const aoei_kernels *k, size_t n, size_t slack, double offset) {
    const size_t ld = n + GAP;
    const float eps = 1e-5f;
    test_span x = test_span_normal(ROWS * ld, slack, 2, (unsigned)n), y = test_span_create((ROWS - 1) * ld + n, slack);
    test_span gamma = test_span_normal(n, slack, 1, 2), beta = test_span_normal(n, slack, 1, 3);
    test_span stats = test_span_create(2 * ROWS, slack);
    for (size_t i = 0; i < ROWS * ld; i++)
        x.data[i] += (float)offset;
    k->layernorm_f32(y.data, ld, stats.data, x.data, ld, gamma.data, beta.data, eps, ROWS, n);
    for (size_t r = 0; r < ROWS; r++) {
        const float *xr = x.data + r * ld;
        const row_stats s = stats_of(xr, n, (double)eps);
        test_value(stats.data[2 * r], s.mean, EPS32 * fabs(s.mean) + 1e-13, "mean", k->tier, n, r);
        test_value(stats.data[2 * r + 1], s.rstd, EPS32 * s.rstd, "rstd", k->tier, n, r);
        for (size_t i = 0; i < n; i++) {
            const double g = (double)gamma.data[i], xhat = ((double)xr[i] - s.mean) * s.rstd, b = (double)beta.data[i];
            const double size = fabs(g) * (fabs(xhat) + fabs(s.mean) * s.rstd) + fabs(b);
            test_value(y.data[r * ld + i], xhat * g + b, kernel_tolerance("layernorm_f32") * EPS32 * size, "layernorm",
                       k->tier, n, i);
        }
        for (size_t i = n; i < ld && r + 1 < ROWS; i++)
            assert_true(isnan(y.data[r * ld + i])); /* the padding between rows must be unchanged */
    }
    /* The bits must be equal if each row is computed in a call of its own, in the memory of the input and without
     * statistics. */
    for (size_t r = 0; r < ROWS; r++) {
        test_span row = test_span_create(n, (slack + 1) % 4);
        memcpy(row.data, x.data + r * ld, n * sizeof(float));
        k->layernorm_f32(row.data, n, NULL, row.data, n, gamma.data, beta.data, eps, 1, n);
        test_same_floats(row.data, y.data + r * ld, n);
        test_span_free(&row);
    }
    test_span_free(&x);
    test_span_free(&y);
    test_span_free(&gamma);
    test_span_free(&beta);
    test_span_free(&stats);
}

static void forward(const aoei_kernels *k) {
    for (size_t i = 0; i < N_COLS; i += kernel_every())
        for (size_t slack = 0; slack < 3; slack++)
            check_forward(k, cols_of(i), slack, slack == 1 ? 20 : 0);
}

static void test_forward(void **state) {
    (void)state;
    kernel_each_tier("layernorm_f32", forward);
}

static void check_input_gradient(const aoei_kernels *k, size_t n, size_t slack) {
    const size_t ld = n + GAP;
    test_span x = test_span_normal(ROWS * ld, slack, 2, (unsigned)n), dy = test_span_normal(ROWS * ld, slack, 1, 2);
    test_span gamma = test_span_normal(n, slack, 1, 3), dx = test_span_create((ROWS - 1) * ld + n, slack);
    test_span stats = test_span_create(2 * ROWS, slack);
    for (size_t r = 0; r < ROWS; r++) {
        const row_stats s = stats_of(x.data + r * ld, n, 1e-5);
        stats.data[2 * r] = (float)s.mean;
        stats.data[2 * r + 1] = (float)s.rstd;
    }
    k->layernorm_grad_f32(dx.data, ld, dy.data, ld, x.data, ld, stats.data, gamma.data, ROWS, n);
    for (size_t r = 0; r < ROWS; r++) {
        const double mean = (double)stats.data[2 * r], rstd = (double)stats.data[2 * r + 1];
        double g_mean = 0, gx_mean = 0, g_size = 0, gx_size = 0;
        for (size_t i = 0; i < n; i++) {
            const double g = (double)dy.data[r * ld + i] * (double)gamma.data[i];
            const double xhat = ((double)x.data[r * ld + i] - mean) * rstd;
            g_mean += g / (double)n;
            gx_mean += g * xhat / (double)n;
            g_size += fabs(g) / (double)n;
            gx_size += fabs(g * xhat) / (double)n;
        }
        for (size_t i = 0; i < n; i++) {
            const double g = (double)dy.data[r * ld + i] * (double)gamma.data[i];
            const double xhat = ((double)x.data[r * ld + i] - mean) * rstd;
            const double size = rstd * (fabs(g) + g_size + fabs(xhat) * gx_size);
            test_value(dx.data[r * ld + i], rstd * (g - g_mean - xhat * gx_mean),
                       kernel_tolerance("layernorm_grad_f32") * EPS32 * size, "layernorm gradient", k->tier, n, i);
        }
        for (size_t i = n; i < ld && r + 1 < ROWS; i++)
            assert_true(isnan(dx.data[r * ld + i]));
    }
    for (size_t r = 0; r < ROWS; r++) { /* computes each row in a call of its own, in the memory of the input */
        test_span row = test_span_create(n, (slack + 1) % 4);
        memcpy(row.data, dy.data + r * ld, n * sizeof(float));
        k->layernorm_grad_f32(row.data, n, row.data, n, x.data + r * ld, n, stats.data + 2 * r, gamma.data, 1, n);
        test_same_floats(row.data, dx.data + r * ld, n);
        test_span_free(&row);
    }
    test_span_free(&x);
    test_span_free(&dy);
    test_span_free(&gamma);
    test_span_free(&dx);
    test_span_free(&stats);
}

static void input_gradient(const aoei_kernels *k) {
    for (size_t i = 0; i < N_COLS; i += kernel_every())
        for (size_t slack = 0; slack < 3; slack++)
            check_input_gradient(k, cols_of(i), slack);
}

static void test_input_gradient(void **state) {
    (void)state;
    kernel_each_tier("layernorm_grad_f32", input_gradient);
}

/* Tests the gradient for a constant row if mean * rstd overflows. The result must be finite, even if the row does not
 * fill the last SIMD vector. */
static void huge_mean(const aoei_kernels *k) {
    for (size_t n = 1; n <= LONGEST; n += kernel_every()) {
        test_span x = test_span_create(n, 0), dy = test_span_normal(n, 0, 1, 1), gamma = test_span_normal(n, 0, 1, 2);
        const float stats[2] = {1e34f, 1e6f};
        for (size_t i = 0; i < n; i++)
            x.data[i] = stats[0];
        k->layernorm_grad_f32(dy.data, n, dy.data, n, x.data, n, stats, gamma.data, 1, n);
        for (size_t i = 0; i < n; i++)
            assert_true(isfinite(dy.data[i]));
        test_span_free(&x);
        test_span_free(&dy);
        test_span_free(&gamma);
    }
}

static void test_huge_mean(void **state) {
    (void)state;
    kernel_each_tier("layernorm_grad_f32", huge_mean);
}

/* Checks the gradients of gamma and beta, which are sums of R terms added to the stored value. The bound covers half an
 * eps for each addition and the roundings of the products. */
static void check_parameter_gradient(const aoei_kernels *k, size_t n, size_t slack) {
    enum { R = 9 };
    const size_t ld = n + GAP;
    test_span x = test_span_normal((R - 1) * ld + n, slack, 2, (unsigned)n),
              dy = test_span_normal((R - 1) * ld + n, slack, 1, 2);
    test_span stats = test_span_normal(2 * R, slack, 1, 3);
    test_span dgamma = test_span_normal(n, slack, 1, 4), dbeta = test_span_normal(n, slack, 1, 5);
    test_span dgamma2 = test_span_normal(n, slack, 1, 4), dbeta2 = test_span_normal(n, slack, 1, 5);
    k->layernorm_param_grad_f32(dgamma.data, dbeta.data, dy.data, ld, x.data, ld, stats.data, R, n);
    for (size_t i = 0; i < n; i++) {
        double g = (double)dgamma2.data[i], b = (double)dbeta2.data[i], g_size = fabs(g), b_size = fabs(b);
        for (size_t r = 0; r < R; r++) {
            const double d = (double)dy.data[r * ld + i];
            const double xhat =
                ((double)x.data[r * ld + i] - (double)stats.data[2 * r]) * (double)stats.data[2 * r + 1];
            g += d * xhat;
            b += d;
            g_size += fabs(d * xhat);
            b_size += fabs(d);
        }
        const double units = kernel_tolerance("layernorm_param_grad_f32") + R / 2.0;
        test_value(dgamma.data[i], g, units * EPS32 * g_size, "dgamma", k->tier, n, i);
        test_value(dbeta.data[i], b, units * EPS32 * b_size, "dbeta", k->tier, n, i);
    }
    /* the bits must be equal if separate calls process three groups of rows and two groups of columns */
    const size_t cut = n / 3;
    for (size_t r = 0; r < R; r += 3) {
        k->layernorm_param_grad_f32(dgamma2.data, dbeta2.data, dy.data + r * ld, ld, x.data + r * ld, ld,
                                    stats.data + 2 * r, 3, cut);
        k->layernorm_param_grad_f32(dgamma2.data + cut, dbeta2.data + cut, dy.data + r * ld + cut, ld,
                                    x.data + r * ld + cut, ld, stats.data + 2 * r, 3, n - cut);
    }
    test_same_floats(dgamma.data, dgamma2.data, n);
    test_same_floats(dbeta.data, dbeta2.data, n);
    test_span_free(&x);
    test_span_free(&dy);
    test_span_free(&stats);
    test_span_free(&dgamma);
    test_span_free(&dbeta);
    test_span_free(&dgamma2);
    test_span_free(&dbeta2);
}

static void parameter_gradient(const aoei_kernels *k) {
    for (size_t n = 1; n <= 2 * 64 + 1; n += kernel_every())
        for (size_t slack = 0; slack < 3; slack++)
            check_parameter_gradient(k, n, slack);
}

static void test_parameter_gradient(void **state) {
    (void)state;
    kernel_each_tier("layernorm_param_grad_f32", parameter_gradient);
}

/* Tests that a constant row becomes beta, and that a row with NaN or infinity does not affect other rows. */
static void special_rows(const aoei_kernels *k) {
    for (size_t n = 1; n <= LONGEST; n += kernel_every()) {
        test_span x = test_span_normal(4 * n, 0, 1, 1), y = test_span_create(4 * n, 0);
        test_span gamma = test_span_normal(n, 0, 1, 2), beta = test_span_normal(n, 0, 1, 3);
        for (size_t i = 0; i < n; i++)
            x.data[n + i] = 0.1f;
        x.data[2 * n + n / 2] = NAN;
        x.data[3 * n + n - 1] = n % 2 ? INFINITY : -INFINITY;
        k->layernorm_f32(y.data, n, NULL, x.data, n, gamma.data, beta.data, 1e-12f, 4, n);
        for (size_t i = 0; i < n; i++) {
            assert_true(isfinite(y.data[i]));
            test_value(y.data[n + i], (double)beta.data[i], 0, "constant row", k->tier, n, i);
            assert_true(isnan(y.data[2 * n + i]));
            assert_true(isnan(y.data[3 * n + i]));
        }
        test_span_free(&x);
        test_span_free(&y);
        test_span_free(&gamma);
        test_span_free(&beta);
    }
}

static void test_special_rows(void **state) {
    (void)state;
    kernel_each_tier("layernorm_f32", special_rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),      cmocka_unit_test(test_input_gradient),
        cmocka_unit_test(test_huge_mean),    cmocka_unit_test(test_parameter_gradient),
        cmocka_unit_test(test_special_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
