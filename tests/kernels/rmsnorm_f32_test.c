/* SPDX-License-Identifier: MIT
 * RMSNorm in float32 and its gradients, in every tier, against double precision: widths, rows, strides, alignment. The
 * sums are in double, so a result has the few roundings of its own formula: bounds in units of eps of the size of its terms.
 */
#include <math.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { LONGEST = 2 * 16 + 1 };
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
        const double xhat = (double)x[i] * s, y = xhat * (double)t->gamma.data[i], g = (double)dy[i] * (double)t->gamma.data[i];
        test_value(t->y.data[r * t->ld + i], y, units * fabs(y), "y", k->tier, t->cols, i);
        test_value(t->dx.data[r * t->ld + i], s * (g - xhat * dot), units * s * (fabs(g) + fabs(xhat) * (size + fabs(dot))),
                   "dx", k->tier, t->cols, i);
    }
}

static void check_columns(const trial *t, const aoei_kernels *k, const test_span *before) {
    for (size_t c = 0; c < t->cols; c++) {
        double sum = (double)before->data[c], size = fabs(sum);
        for (size_t r = 0; r < t->rows; r++) {
            const double v = (double)t->dy.data[r * t->ld + c] * (double)t->x.data[r * t->ld + c] * (double)t->stats.data[r];
            sum += v;
            size += fabs(v);
        }
        const double bound = kernel_tolerance("rmsnorm_param_grad_f32") * ((double)t->rows + 2) * EPS32 * size;
        test_value(t->dgamma.data[c], sum, bound, "dgamma", k->tier, t->cols, c);
    }
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
