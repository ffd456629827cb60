/* SPDX-License-Identifier: MIT
 * Tests SiLU, the approximation of GELU by a logistic function, and their gradients on every instruction set against
 * the C library in double. The tests cover lengths, alignments, special values, and a sweep over floats of all
 * magnitudes.
 *
 * The value is x times the logistic function of z = scale x, where scale is 1 or AOEI_QUICK_GELU_SCALE. Its relative
 * error consists of the error of e^-z and of the roundings of a sum and a quotient; the tolerance in kernels.def is the
 * upper bound. If scale is not 1, the roundings of scale and z also contribute eps |z| for z < 0. If e^-z overflows in
 * float32, the value is 0.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { LONGEST = 2 * 16 + 1, SWEEP_STEP = TEST_SANITIZED ? 17 * 1009 : 1009, SWEEP_BLOCK = 64 };

#define VANISHED (89 * 0x1p-127) /* largest exact |silu(x)| for which e^-x overflows in float32 */

static double logistic(double z) {
    return z < 0 ? exp(z) / (1 + exp(z)) : 1 / (1 + exp(-z));
}

/* The tested operation: 0: SiLU, 1: the approximation of GELU. */
static int quick;

static double scale(void) {
    return quick ? AOEI_QUICK_GELU_SCALE : 1;
}

static void value_of(const aoei_kernels *k, float *y, const float *x, size_t n) {
    (quick ? k->quick_gelu_f32 : k->silu_f32)(y, x, n);
}

static void gradient_of(const aoei_kernels *k, float *dx, const float *dy, const float *x, size_t n) {
    (quick ? k->quick_gelu_grad_f32 : k->silu_grad_f32)(dx, dy, x, n);
}

static void check_value(float y, float x, aoei_tier tier, size_t n, size_t i) {
    const double v = (double)x, z = scale() * v, want = v * logistic(z);
    const double units = kernel_tolerance(quick ? "quick_gelu_f32" : "silu_f32") + (quick && z < 0 ? fabs(z) : 0);
    test_value(y, want, units * EPS32 * fabs(want) + VANISHED, quick ? "quick gelu" : "silu", tier, n, i);
}

static void check_gradient(float dx, float dy, float x, aoei_tier tier, size_t n, size_t i) {
    const double z = scale() * (double)x, s = logistic(z), second = z * s * logistic(-z), one = (double)dy;
    const double units = kernel_tolerance(quick ? "quick_gelu_grad_f32" : "silu_grad_f32");
    const double bound = units * (s + 2 * fabs(second)) + (quick ? fabs(z) * ((z < 0 ? s : 0) + fabs(second)) : 0);
    test_value(dx, one * (s + second), fabs(one) * (EPS32 * bound + VANISHED),
               quick ? "quick gelu gradient" : "silu gradient", tier, n, i);
}

static void lengths(const aoei_kernels *k) {
    for (size_t n = 0; n <= LONGEST; n++)
        for (size_t slack = 0; slack < 3; slack++) {
            test_span x = test_span_normal(n, slack, 3, 1), dy = test_span_normal(n, slack, 1, 2);
            test_span y = test_span_create(n, slack), dx = test_span_create(n, slack);
            for (size_t i = 0; i < n; i++)
                if ((i + n) % 2)
                    x.data[i] = test_specials[(i * 5 + n) % test_n_specials];
            value_of(k, y.data, x.data, n);
            gradient_of(k, dx.data, dy.data, x.data, n);
            for (size_t i = 0; i < n; i++) {
                check_value(y.data[i], x.data[i], k->tier, n, i);
                check_gradient(dx.data[i], dy.data[i], x.data[i], k->tier, n, i);
            }
            gradient_of(k, dy.data, dy.data, x.data, n);
            test_same_floats(dy.data, dx.data, n);
            value_of(k, x.data, x.data, n);
            test_same_floats(x.data, y.data, n);
            test_span *all[] = {&x, &dy, &y, &dx};
            for (size_t i = 0; i < 4; i++)
                test_span_free(all[i]);
        }
}

/* Tests every SWEEP_STEP-th float with |x| < 100, in blocks of SWEEP_BLOCK floats. */
static void sweep(const aoei_kernels *k, void (*check)(const aoei_kernels *k, const float *x, size_t n)) {
    float x[SWEEP_BLOCK];
    size_t n = 0;
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += SWEEP_STEP * kernel_every()) {
        const uint32_t low = (uint32_t)bits;
        memcpy(x + n, &low, sizeof low);
        if (!(fabsf(x[n]) < 100) || ++n < SWEEP_BLOCK)
            continue;
        check(k, x, n);
        n = 0;
    }
}

static void check_values(const aoei_kernels *k, const float *x, size_t n) {
    float y[SWEEP_BLOCK];
    value_of(k, y, x, n);
    for (size_t i = 0; i < n; i++)
        check_value(y[i], x[i], k->tier, n, i);
}

static void check_gradients(const aoei_kernels *k, const float *x, size_t n) {
    float dx[SWEEP_BLOCK], one[SWEEP_BLOCK];
    for (size_t i = 0; i < n; i++)
        one[i] = 1;
    gradient_of(k, dx, one, x, n);
    for (size_t i = 0; i < n; i++)
        check_gradient(dx[i], 1, x[i], k->tier, n, i);
}

static void sweep_values(const aoei_kernels *k) {
    sweep(k, check_values);
}

static void sweep_gradients(const aoei_kernels *k) {
    sweep(k, check_gradients);
}

/* Tests large |x|. The value must be x for x > 0 and 0 for x < 0, and the derivative 1 or 0. For x = -INFINITY, the
 * result is NaN, because infinity is multiplied by 0. */
static void limits(const aoei_kernels *k) {
    const float x[] = {200.0f,   -200.0f, 3e13f, -3e13f,   1e30f,     -1e30f, FLT_MAX,
                       -FLT_MAX, 0.0f,    -0.0f, INFINITY, -INFINITY, NAN};
    enum { N = sizeof x / sizeof *x, FINITE = 8 };
    float y[N], dx[N], one[N];
    for (size_t i = 0; i < N; i++)
        one[i] = 1;
    for (size_t n = 1; n <= N; n++) {
        value_of(k, y, x, n);
        gradient_of(k, dx, one, x, n);
        for (size_t i = 0; i < n && i < FINITE; i++) {
            test_value(y[i], x[i] > 0 ? (double)x[i] : 0, 0, "silu", k->tier, n, i);
            test_value(dx[i], x[i] > 0, 0, "silu gradient", k->tier, n, i);
        }
    }
    assert_true(y[8] == 0 && !signbit(y[8]) && y[9] == 0 && signbit(y[9]) && dx[8] == 0.5f && dx[9] == 0.5f);
    assert_true(y[10] == INFINITY && isnan(y[11]) && isnan(y[12]));
    assert_true(isnan(dx[10]) && isnan(dx[11]) && isnan(dx[12]));
}

static void test_all(void **state) {
    (void)state;
    for (quick = 0; quick < 2; quick++) {
        const char *values = quick ? "quick_gelu_f32" : "silu_f32",
                   *gradients = quick ? "quick_gelu_grad_f32" : "silu_grad_f32";
        kernel_each_tier(values, lengths);
        kernel_each_tier(gradients, lengths);
        kernel_each_tier(values, sweep_values);
        kernel_each_tier(gradients, sweep_gradients);
        kernel_each_tier(values, limits);
        kernel_each_tier(gradients, limits);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
