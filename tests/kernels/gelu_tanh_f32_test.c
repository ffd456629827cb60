/* SPDX-License-Identifier: MIT
 * The tanh form of GELU and its gradient in every tier against the C library in double: lengths, alignment, special
 * values and a sweep over floats of all sizes. The value is x times a logistic function of z, whose relative error is that of
 * e^-z: eps |z| from the argument's rounding where the function is small, and a few eps besides.
 */
#include <math.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { LONGEST = 2 * 16 + 1, SWEEP_STEP = 10007 };

/* z with 0.5 (1 + tanh(z / 2)) = 1 / (1 + e^-z) */
static double argument(double x) {
    return 2 * sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x);
}

static double logistic(double z) {
    return z < 0 ? exp(z) / (1 + exp(z)) : 1 / (1 + exp(-z));
}

static void check_value(float y, float x, aoei_tier tier, size_t n, size_t i) {
    const double v = (double)x, z = argument(v), want = v * logistic(z);
    const double units = kernel_tolerance("gelu_tanh_f32") + (v < 0 ? 4 * fabs(z) : 0);
    /* tier c's 1 + tanh is exact to eps of double only where it is small */
    const double small = tier == AOEI_TIER_C ? 1e-15 * fabs(v) : 0;
    test_value(y, isinf(v) && v > 0 ? v : want, units * EPS32 * fabs(want) + small + 0x1p-120, "gelu tanh", tier, n, i);
}

static void check_gradient(float dx, float dy, float x, aoei_tier tier, size_t n, size_t i) {
    const double v = (double)x, z = argument(v), s = logistic(z);
    const double slope = 2 * sqrt(2 / acos(-1.0)) * (1 + 3 * 0.044715 * v * v), second = v * slope * s * (1 - s);
    const double units = kernel_tolerance("gelu_tanh_grad_f32") + 4 * fabs(z);
    test_value(dx, (double)dy * (s + second),
               fabs((double)dy) * (units * EPS32 * (s + fabs(second)) + 1e-7 * (1 + fabs(v * slope) * s)), "gelu tanh gradient",
               tier, n, i);
}

static void lengths(const aoei_kernels *k) {
    for (size_t n = 0; n <= LONGEST; n++)
        for (size_t slack = 0; slack < 3; slack++) {
            test_span x = test_span_normal(n, slack, 3, 1), dy = test_span_normal(n, slack, 1, 2);
            test_span y = test_span_create(n, slack), dx = test_span_create(n, slack);
            k->gelu_tanh_f32(y.data, x.data, n);
            k->gelu_tanh_grad_f32(dx.data, dy.data, x.data, n);
            for (size_t i = 0; i < n; i++) {
                check_value(y.data[i], x.data[i], k->tier, n, i);
                check_gradient(dx.data[i], dy.data[i], x.data[i], k->tier, n, i);
            }
            k->gelu_tanh_grad_f32(dy.data, dy.data, x.data, n);
            test_same_floats(dy.data, dx.data, n);
            k->gelu_tanh_f32(x.data, x.data, n);
            test_same_floats(x.data, y.data, n);
            test_span *all[] = {&x, &dy, &y, &dx};
            for (size_t i = 0; i < 4; i++)
                test_span_free(all[i]);
        }
}

/* Every SWEEP_STEP-th float with |x| < 8. */
static void sweep(const aoei_kernels *k) {
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += SWEEP_STEP) {
        const uint32_t low = (uint32_t)bits;
        float x, y, dx;
        const float one = 1;
        memcpy(&x, &low, sizeof x);
        if (!(fabsf(x) < 8))
            continue;
        k->gelu_tanh_f32(&y, &x, 1);
        k->gelu_tanh_grad_f32(&dx, &one, &x, 1);
        check_value(y, x, k->tier, 1, 0);
        check_gradient(dx, one, x, k->tier, 1, 0);
    }
}

static void specials(const aoei_kernels *k) {
    const float x[] = {NAN, INFINITY, 0.0f, -0.0f, 20.0f, -20.0f};
    float y[6];
    k->gelu_tanh_f32(y, x, 6);
    assert_true(isnan(y[0]));
    assert_true(isinf(y[1]) && y[1] > 0);
    assert_true(y[2] == 0 && y[3] == 0 && y[4] == 20.0f);
    assert_true(fabsf(y[5]) < 1e-6f);
}

static void test_all(void **state) {
    (void)state;
    kernel_each_tier("gelu_tanh_f32", lengths);
    kernel_each_tier("gelu_tanh_grad_f32", lengths);
    kernel_each_tier("gelu_tanh_f32", sweep);
    kernel_each_tier("gelu_tanh_f32", specials);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
