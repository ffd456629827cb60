/* SPDX-License-Identifier: MIT
 * Tests GELU and its gradient on every instruction set against erfc of the C library in double. The tests cover
 * lengths, alignments and special values. A sweep over many floats checks the accuracy stated in docs/numerics.md. The
 * relative error of a value is at most `tolerance` eps for x >= 0, and at most (tolerance + |x|) eps for x < 0, where
 * `tolerance` is the number in kernels.def. For negative x, the condition number of the normal distribution grows with
 * |x|.
 */
#include <math.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { LONGEST = 2 * 16 + 1, SWEEP_STEP = TEST_SANITIZED ? 17 * 1009 : 1009 };

#define SUBNORMALS 0x1p-145 /* absolute tolerance for subnormal results */

static double normal_distribution(double x) {
    return 0.5 * erfc(-x * sqrt(0.5));
}

static void check_value(float y, float x, aoei_tier tier, size_t n, size_t i) {
    const double v = (double)x, want = v * normal_distribution(v);
    const double units = kernel_tolerance("gelu_f32") + (v < 0 ? -v : 0);
    test_value(y, want, units * EPS32 * fabs(want) + SUBNORMALS, "gelu", tier, n, i);
}

static void check_gradient(float dx, float dy, float x, aoei_tier tier, size_t n, size_t i) {
    const double v = (double)x, phi = v * (exp(-0.5 * v * v) / sqrt(2 * acos(-1.0)));
    const double sum = normal_distribution(v) + phi, terms = normal_distribution(v) + fabs(phi);
    const double units = kernel_tolerance("gelu_grad_f32") + (v < 0 ? -v : 0);
    test_value(dx, (double)dy * sum, fabs((double)dy) * (units * EPS32 * terms + SUBNORMALS) + SUBNORMALS,
               "gelu gradient", tier, n, i);
}

static void lengths(const aoei_kernels *k) {
    for (size_t n = 0; n <= LONGEST; n++)
        for (size_t slack = 0; slack < 3; slack++) {
            test_span x = test_span_normal(n, slack, 3, 1), dy = test_span_normal(n, slack, 1, 2);
            test_span y = test_span_create(n, slack), dx = test_span_create(n, slack);
            for (size_t i = 0; i < n; i++)
                if ((i + n) % 2)
                    x.data[i] = test_specials[(i * 5 + n) % test_n_specials];
            k->gelu_f32(y.data, x.data, n);
            k->gelu_grad_f32(dx.data, dy.data, x.data, n);
            for (size_t i = 0; i < n; i++) {
                check_value(y.data[i], x.data[i], k->tier, n, i);
                check_gradient(dx.data[i], dy.data[i], x.data[i], k->tier, n, i);
            }
            k->gelu_grad_f32(dy.data, dy.data, x.data, n);
            test_same_floats(dy.data, dx.data, n);
            k->gelu_f32(x.data, x.data, n);
            test_same_floats(x.data, y.data, n);
            test_span_free(&x);
            test_span_free(&dy);
            test_span_free(&y);
            test_span_free(&dx);
        }
}

static void test_lengths(void **state) {
    (void)state;
    kernel_each_tier("gelu_f32", lengths);
    kernel_each_tier("gelu_grad_f32", lengths);
}

/* Tests every SWEEP_STEP-th float with |x| < 40. */
static void sweep(const aoei_kernels *k) {
    enum { BLOCK = 64 };
    float x[BLOCK], y[BLOCK], dx[BLOCK], one[BLOCK];
    size_t n = 0;
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += SWEEP_STEP * kernel_every()) {
        const uint32_t low = (uint32_t)bits;
        memcpy(x + n, &low, sizeof low);
        if (!(fabsf(x[n]) < 40))
            continue;
        one[n] = 1;
        if (++n < BLOCK)
            continue;
        k->gelu_f32(y, x, n);
        k->gelu_grad_f32(dx, one, x, n);
        for (size_t i = 0; i < n; i++) {
            check_value(y[i], x[i], k->tier, n, i);
            check_gradient(dx[i], 1, x[i], k->tier, n, i);
        }
        n = 0;
    }
}

static void test_sweep(void **state) {
    (void)state;
    kernel_each_tier("gelu_f32", sweep);
}

static void limits(const aoei_kernels *k) {
    const float x[4] = {-0.0f, 1e30f, -1e30f, 0.0f};
    float y[4];
    k->gelu_f32(y, x, 4);
    assert_true(y[0] == 0 && signbit(y[0]));
    assert_true(y[1] == x[1]);
    assert_true(y[2] == 0);
    assert_true(y[3] == 0 && !signbit(y[3]));
    k->gelu_grad_f32(y, (float[4]){1, 1, 1, 1}, x, 4);
    assert_true(y[0] == 0.5f && y[1] == 1 && y[2] == 0 && y[3] == 0.5f);
}

static void test_limits(void **state) {
    (void)state;
    kernel_each_tier("gelu_f32", limits);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
