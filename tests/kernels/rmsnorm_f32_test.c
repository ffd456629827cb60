/* SPDX-License-Identifier: MIT
 * Tests RMSNorm in float32 and its gradients on every instruction set against double precision. The tests cover numbers
 * of rows and columns, strides, alignments, outputs in the memory of inputs, and special values. The result for a row
 * must not depend on other rows. The gradient of gamma must have the same bits in one call and in several calls.
 *
 * The kernel adds the squares of a row in double, so only the few other roundings of the formula contribute to the
 * error. Error bounds are in units of eps, relative to the magnitude of the terms of the result.
 */
#include <math.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { LONGEST = 2 * 32 + 1 };
#define EPSILON 1e-6

typedef struct trial {
    size_t rows, cols, ld;
    test_span x, dy, gamma, stats, y, dx, dgamma;
} trial;

static trial create(size_t rows, size_t cols, size_t slack) {
    trial t = {.rows = rows, .cols = cols, .ld = cols + slack};
    const size_t n = (rows - 1) * t.ld + cols;
    t.x = test_span_normal(n, slack, 2, 1);
    t.dy = test_span_normal(n, slack, 1, 2);
    t.gamma = test_span_normal(cols, slack, 1, 3);
    t.stats = test_span_create(rows, slack);
    t.y = test_span_create(n, slack);
    t.dx = test_span_create(n, slack);
    t.dgamma = test_span_normal(cols, slack, 1, 4);
    return t;
}

static void destroy(trial *t) {
    test_span *all[] = {&t->x, &t->dy, &t->gamma, &t->stats, &t->y, &t->dx, &t->dgamma};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        test_span_free(all[i]);
}

static double rstd_of(const float *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return 1 / sqrt(sum / (double)n + EPSILON);
}

static void check_row(const trial *t, const aoei_kernels *k, size_t r) {
    const float *x = t->x.data + r * t->ld, *dy = t->dy.data + r * t->ld;
    const double s = rstd_of(x, t->cols), units = kernel_tolerance("rmsnorm_f32") * EPS32;
    double dot = 0, size = 0;
    for (size_t i = 0; i < t->cols; i++) {
        const double term = (double)dy[i] * (double)t->gamma.data[i] * (double)x[i] * s;
        dot += term / (double)t->cols;
        size += fabs(term) / (double)t->cols;
    }
    test_value(t->stats.data[r], s, EPS32 * s, "rstd", k->tier, t->cols, r);
    for (size_t i = 0; i < t->cols; i++) {
        const double xhat = (double)x[i] * s, y = xhat * (double)t->gamma.data[i],
                     g = (double)dy[i] * (double)t->gamma.data[i];
        test_value(t->y.data[r * t->ld + i], y, units * fabs(y), "y", k->tier, t->cols, i);
        test_value(t->dx.data[r * t->ld + i], s * (g - xhat * dot),
                   units * s * (fabs(g) + fabs(xhat) * (size + fabs(dot))), "dx", k->tier, t->cols, i);
    }
}

static void check_columns(const trial *t, const aoei_kernels *k, const test_span *before) {
    for (size_t c = 0; c < t->cols; c++) {
        double sum = (double)before->data[c], size = fabs(sum);
        for (size_t r = 0; r < t->rows; r++) {
            const double v =
                (double)t->dy.data[r * t->ld + c] * (double)t->x.data[r * t->ld + c] * (double)t->stats.data[r];
            sum += v;
            size += fabs(v);
        }
        const double bound = kernel_tolerance("rmsnorm_param_grad_f32") * ((double)t->rows + 2) * EPS32 * size;
        test_value(t->dgamma.data[c], sum, bound, "dgamma", k->tier, t->cols, c);
    }
}

/* Asserts that the padding between rows is unchanged. */
static void check_gaps(const trial *t) {
    for (size_t r = 0; r + 1 < t->rows; r++)
        for (size_t i = t->cols; i < t->ld; i++)
            assert_true(isnan(t->y.data[r * t->ld + i]) && isnan(t->dx.data[r * t->ld + i]));
}

/* Asserts that the bits are equal if each row is computed in a call of its own, in the memory of the input and without
 * statistics. */
static void check_alone(const trial *t, const aoei_kernels *k, size_t slack) {
    for (size_t r = 0; r < t->rows; r++) {
        const float *x = t->x.data + r * t->ld, *dy = t->dy.data + r * t->ld;
        test_span row = test_span_create(t->cols, slack);
        memcpy(row.data, x, t->cols * sizeof(float));
        k->rmsnorm_f32(row.data, t->cols, NULL, row.data, t->cols, t->gamma.data, (float)EPSILON, 1, t->cols);
        test_same_floats(row.data, t->y.data + r * t->ld, t->cols);
        memcpy(row.data, dy, t->cols * sizeof(float));
        k->rmsnorm_grad_f32(row.data, t->cols, row.data, t->cols, x, t->cols, t->stats.data + r, t->gamma.data, 1,
                            t->cols);
        test_same_floats(row.data, t->dx.data + r * t->ld, t->cols);
        test_span_free(&row);
    }
}

/* Asserts that the gradient of gamma has the same bits if separate calls process single rows and two groups of columns.
 * `stored` contains the initial values of the gradient. */
static void check_slices(const trial *t, const aoei_kernels *k, test_span *stored) {
    const size_t cut = t->cols / 3;
    for (size_t r = 0; r < t->rows; r++) {
        const float *x = t->x.data + r * t->ld, *dy = t->dy.data + r * t->ld, *stats = t->stats.data + r;
        k->rmsnorm_param_grad_f32(stored->data, dy, t->ld, x, t->ld, stats, 1, cut);
        k->rmsnorm_param_grad_f32(stored->data + cut, dy + cut, t->ld, x + cut, t->ld, stats, 1, t->cols - cut);
    }
    test_same_floats(stored->data, t->dgamma.data, t->cols);
}

static void run(const aoei_kernels *k, size_t rows, size_t cols, size_t slack) {
    trial t = create(rows, cols, slack);
    test_span before = test_span_normal(cols, 0, 1, 4);
    k->rmsnorm_f32(t.y.data, t.ld, t.stats.data, t.x.data, t.ld, t.gamma.data, (float)EPSILON, rows, cols);
    k->rmsnorm_grad_f32(t.dx.data, t.ld, t.dy.data, t.ld, t.x.data, t.ld, t.stats.data, t.gamma.data, rows, cols);
    k->rmsnorm_param_grad_f32(t.dgamma.data, t.dy.data, t.ld, t.x.data, t.ld, t.stats.data, rows, cols);
    for (size_t r = 0; r < rows; r++)
        check_row(&t, k, r);
    check_columns(&t, k, &before);
    check_gaps(&t);
    check_alone(&t, k, (slack + 1) % 4);
    check_slices(&t, k, &before);
    test_span_free(&before);
    destroy(&t);
}

static void shapes(const aoei_kernels *k) {
    for (size_t cols = 1; cols <= LONGEST; cols++)
        run(k, 1 + cols % 3, cols, cols % 4);
    for (size_t rows = 1; rows <= 9; rows++)
        run(k, rows, 40, rows % 2);
    run(k, 2, 768, 1);
}

static void test_shapes(void **state) {
    (void)state;
    kernel_each_tier("rmsnorm_f32", shapes);
    kernel_each_tier("rmsnorm_grad_f32", shapes);
    kernel_each_tier("rmsnorm_param_grad_f32", shapes);
}

/* Tests rows of zeros, rows whose squares overflow in float32, rows of subnormal numbers, and rows with NaN or
 * infinity. The result for a row must not depend on the other rows. */
static void special_rows(const aoei_kernels *k) {
    enum { ROWS = 6 };
    for (size_t n = 1; n <= LONGEST; n++) {
        test_span x = test_span_normal(ROWS * n, 0, 1, 1), y = test_span_create(ROWS * n, 0),
                  stats = test_span_create(ROWS, 0);
        test_span gamma = test_span_normal(n, 0, 1, 2);
        for (size_t i = 0; i < n; i++) {
            x.data[n + i] = 0;
            x.data[2 * n + i] = i % 2 ? 1e30f : -1e30f;
            x.data[3 * n + i] = 1e-42f;
        }
        x.data[4 * n + n / 2] = NAN;
        x.data[5 * n + n - 1] = n % 2 ? INFINITY : -INFINITY;
        k->rmsnorm_f32(y.data, n, stats.data, x.data, n, gamma.data, (float)EPSILON, ROWS, n);
        const double unit = kernel_tolerance("rmsnorm_f32") * EPS32, tiny = 1 / sqrt(EPSILON);
        for (size_t i = 0; i < n; i++) {
            const double g = (double)gamma.data[i];
            assert_true(isfinite(y.data[i]) && y.data[n + i] == 0);
            test_value(y.data[2 * n + i], i % 2 ? g : -g, unit * fabs(g), "large", k->tier, n, i);
            test_value(y.data[3 * n + i], (double)1e-42f * tiny * g, unit * 1e-42 * tiny * fabs(g) + 0x1p-149,
                       "subnormal", k->tier, n, i);
            assert_true(isnan(y.data[4 * n + i]));
            assert_true(i + 1 == n ? isnan(y.data[5 * n + i]) : y.data[5 * n + i] == 0); /* a finite value divided by
                                                                                            infinity is 0 */
        }
        test_span *all[] = {&x, &y, &stats, &gamma};
        for (size_t i = 0; i < 4; i++)
            test_span_free(all[i]);
    }
}

static void test_special_rows(void **state) {
    (void)state;
    kernel_each_tier("rmsnorm_f32", special_rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_special_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
