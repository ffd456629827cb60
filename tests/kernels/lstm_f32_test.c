/* SPDX-License-Identifier: MIT
 * Tests the cell of an LSTM and its gradients on every instruction set against the C library in double, for all lengths
 * up to two vectors and a part of a vector, and for arguments of several magnitudes.
 */
#include <math.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { LONGEST = 2 * 16 + 1 };

#define TINY 0x1p-125 /* error of values that underflow, or for which e^-x overflows */

static const double magnitudes[] = {1e-6, 1e-3, 0.3, 3, 40};

static double logistic(double z) {
    return z < 0 ? exp(z) / (1 + exp(z)) : 1 / (1 + exp(-z));
}

static void fill(float *x, size_t n, double scale, unsigned stream) {
    test_span s = test_span_normal(n, 0, scale, stream);
    memcpy(x, s.data, n * sizeof *x);
    test_span_free(&s);
}

/* Operands of a cell, and the results of the forward pass. */
typedef struct cell {
    float arguments[4 * LONGEST], gates[4 * LONGEST], before[LONGEST], c[LONGEST], h[LONGEST];
} cell;

static void forward(const aoei_kernels *k, cell *x, size_t n, double scale) {
    float recurrent[4 * LONGEST];
    fill(x->gates, 4 * n, scale, 1);
    fill(recurrent, 4 * n, scale, 2);
    fill(x->before, n, 1, 3);
    for (size_t j = 0; j < 4 * n; j++)
        x->arguments[j] = x->gates[j] + recurrent[j];
    k->lstm_f32(x->h, x->c, x->gates, recurrent, x->before, n);
}

static void compare_values(const aoei_kernels *k, size_t n, double scale) {
    const double unit = kernel_tolerance("lstm_f32") * EPS32;
    cell x;
    forward(k, &x, n, scale);
    for (size_t j = 0; j < n; j++) {
        const double i = logistic((double)x.arguments[j]), f = logistic((double)x.arguments[n + j]);
        const double g = tanh((double)x.arguments[2 * n + j]), o = logistic((double)x.arguments[3 * n + j]);
        const double values[] = {i, f, g, o}, kept = f * (double)x.before[j], t = tanh((double)x.c[j]);
        for (size_t gate = 0; gate < 4; gate++)
            test_value(x.gates[gate * n + j], values[gate], unit * fabs(values[gate]) + TINY, "gate", k->tier, n, j);
        test_value(x.c[j], kept + i * g, unit * (fabs(kept) + i * fabs(g)) + TINY, "c", k->tier, n, j);
        test_value(x.h[j], o * t, unit * (o * fabs(t)) + TINY, "h", k->tier, n, j);
    }
}

static void compare_gradients(const aoei_kernels *k, size_t n, double scale) {
    const double unit = kernel_tolerance("lstm_grad_f32") * EPS32;
    float grad[4 * LONGEST], dc[LONGEST], dh[LONGEST], next[LONGEST];
    cell x;
    forward(k, &x, n, scale);
    fill(dh, n, 1, 4);
    fill(next, n, 1, 5);
    memcpy(grad, x.gates, 4 * n * sizeof *grad);
    memcpy(dc, next, n * sizeof *dc);
    k->lstm_grad_f32(grad, dc, dh, x.c, x.before, n);
    for (size_t j = 0; j < n; j++) {
        const double i = (double)x.gates[j], f = (double)x.gates[n + j], g = (double)x.gates[2 * n + j];
        const double o = (double)x.gates[3 * n + j], t = tanh((double)x.c[j]), out = (double)dh[j],
                     b = (double)x.before[j];
        const double d = (double)next[j] + out * o * (1 - t * t), bound = fabs((double)next[j]) + fabs(out) * o;
        const double want[] = {d * g * i * (1 - i), d * b * f * (1 - f), d * i * (1 - g * g), out * t * o * (1 - o)};
        const double bounds[] = {bound * fabs(g) * i, bound * fabs(b) * f, bound * i, fabs(out * t) * o};
        for (size_t gate = 0; gate < 4; gate++)
            test_value(grad[gate * n + j], want[gate], unit * bounds[gate] + TINY, "gradient", k->tier, n, j);
        test_value(dc[j], d * f, unit * bound * f + TINY, "dc", k->tier, n, j);
    }
}

static void values_against_double(const aoei_kernels *k) {
    for (size_t n = 1; n <= LONGEST; n++)
        for (size_t m = 0; m < sizeof magnitudes / sizeof *magnitudes; m++)
            compare_values(k, n, magnitudes[m]);
}

static void gradients_against_double(const aoei_kernels *k) {
    for (size_t n = 1; n <= LONGEST; n++)
        for (size_t m = 0; m < sizeof magnitudes / sizeof *magnitudes; m++)
            compare_gradients(k, n, magnitudes[m]);
}

static void test_against_double(void **state) {
    (void)state;
    kernel_each_tier("lstm_f32", values_against_double);
    kernel_each_tier("lstm_grad_f32", gradients_against_double);
}

/* NaN must propagate, and infinite arguments must give the limits of the functions. */
static void limits(const aoei_kernels *k) {
    float gates[4] = {INFINITY, -INFINITY, -INFINITY, INFINITY}, c, h, nan_gates[4] = {0, 0, NAN, 0}, dc = 1;
    const float zeros[4] = {0}, before = 5, one = 1;
    k->lstm_f32(&h, &c, gates, zeros, &before, 1);
    test_value(c, -1, 0, "c", k->tier, 1, 0);
    test_value(h, tanh(-1), 8 * EPS32, "h", k->tier, 1, 0);
    k->lstm_f32(&h, &c, nan_gates, zeros, &before, 1);
    assert_true(isnan(c) && isnan(h));
    k->lstm_grad_f32(nan_gates, &dc, &one, &c, &before, 1);
    assert_true(isnan(dc) && isnan(nan_gates[0]));
}

static void test_limits(void **state) {
    (void)state;
    kernel_each_tier("lstm_f32", limits);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_double), cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
