/* SPDX-License-Identifier: MIT
 * Tests the gated linear unit and its gradient on every instruction set against the C library in double. The tests
 * cover lengths, alignments, outputs in the memory of inputs, special values, and a sweep over gates of all magnitudes.
 *
 * The error of a factor sigma(g) or 1 - sigma(g) is 1.1 ulp for the exponential and two roundings, for a sum and a
 * quotient. The tolerance in kernels.def also covers the roundings of the products. If the exponential of the gate
 * overflows in float32, the computed factor is 0, and the exact factor is smaller than the smallest normal number.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { LONGEST = 2 * 16 + 1, SWEEP_STEP = 10007, SWEEP_BLOCK = 64 };

static double logistic(double z) {
    return z < 0 ? exp(z) / (1 + exp(z)) : 1 / (1 + exp(-z));
}

static void check_value(float y, float t, float g, aoei_tier tier, size_t n, size_t i) {
    const double want = (double)t * logistic((double)g);
    test_value(y, want, kernel_tolerance("glu_f32") * EPS32 * fabs(want) + fabs((double)t) * 0x1p-126 + 0x1p-149, "glu",
               tier, n, i);
}

static void check_gradient(float dt, float dg, float dy, float t, float g, aoei_tier tier, size_t n, size_t i) {
    const double z = (double)g, s = logistic(z), d = (double)dy, want_t = d * s, product = d * (double)t,
                 want_g = product * (s * logistic(-z)), units = kernel_tolerance("glu_grad_f32") * EPS32;
    test_value(dt, want_t, units * fabs(want_t) + fabs(d) * 0x1p-126 + 0x1p-149, "glu gradient of t", tier, n, i);
    /* if `product` overflows in float32, the kernel's result is infinite, even though the derivative is small */
    if (fabs(product) <= (double)FLT_MAX)
        test_value(dg, want_g, 2 * units * fabs(want_g) + fabs(product) * 0x1p-125 + 0x1p-148, "glu gradient of g",
                   tier, n, i);
}

static void lengths(const aoei_kernels *k) {
    for (size_t n = 0; n <= LONGEST; n += kernel_every())
        for (size_t slack = 0; slack < 3; slack++) {
            test_span t = test_span_normal(n, slack, 3, 1), g = test_span_normal(n, slack, 3, 2);
            test_span dy = test_span_normal(n, slack, 1, 3), y = test_span_create(n, slack);
            test_span dt = test_span_create(n, slack), dg = test_span_create(n, slack);
            for (size_t i = 0; i < n; i++)
                if ((i + n) % 2)
                    (i % 3 ? t : g).data[i] = test_specials[(i * 5 + n) % test_n_specials];
            k->glu_f32(y.data, t.data, g.data, n);
            k->glu_grad_f32(dt.data, dg.data, dy.data, t.data, g.data, n);
            for (size_t i = 0; i < n; i++) {
                check_value(y.data[i], t.data[i], g.data[i], k->tier, n, i);
                check_gradient(dt.data[i], dg.data[i], dy.data[i], t.data[i], g.data[i], k->tier, n, i);
            }
            float swish[LONGEST];
            k->glu_f32(swish, t.data, t.data, n);
            for (size_t i = 0; i < n; i++)
                check_value(swish[i], t.data[i], t.data[i], k->tier, n, i);
            test_span keep = test_span_create(n, slack);
            memcpy(keep.data, t.data, n * sizeof(float));
            k->glu_f32(keep.data, keep.data, g.data, n);
            test_same_floats(keep.data, y.data, n);
            k->glu_grad_f32(t.data, g.data, dy.data, t.data, g.data, n);
            test_same_floats(t.data, dt.data, n);
            test_same_floats(g.data, dg.data, n);
            test_span *all[] = {&t, &g, &dy, &y, &dt, &dg, &keep};
            for (size_t i = 0; i < sizeof all / sizeof *all; i++)
                test_span_free(all[i]);
        }
}

/* Tests every SWEEP_STEP-th float as a gate. */
static void sweep(const aoei_kernels *k) {
    float g[SWEEP_BLOCK], t[SWEEP_BLOCK], dy[SWEEP_BLOCK], y[SWEEP_BLOCK], dt[SWEEP_BLOCK], dg[SWEEP_BLOCK];
    size_t n = 0;
    for (size_t i = 0; i < SWEEP_BLOCK; i++) {
        t[i] = 1.5F + (float)i;
        dy[i] = i % 2 ? -0.75F : 1.25F;
    }
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += SWEEP_STEP * kernel_every()) {
        const uint32_t low = (uint32_t)bits;
        memcpy(g + n, &low, sizeof low);
        if (isnan(g[n]) || ++n < SWEEP_BLOCK)
            continue;
        k->glu_f32(y, t, g, n);
        k->glu_grad_f32(dt, dg, dy, t, g, n);
        for (size_t i = 0; i < n; i++) {
            check_value(y[i], t[i], g[i], k->tier, n, i);
            check_gradient(dt[i], dg[i], dy[i], t[i], g[i], k->tier, n, i);
        }
        n = 0;
    }
}

static void test_all(void **state) {
    (void)state;
    kernel_each_tier("glu_f32", lengths);
    kernel_each_tier("glu_grad_f32", lengths);
    kernel_each_tier("glu_f32", sweep);
    kernel_each_tier("glu_grad_f32", sweep);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
