/* SPDX-License-Identifier: MIT
 * Tests the quantization of rows to int8 for every instruction set. The scale and the int8 values are compared bit by bit with
 * the formulas in kernels.h, so the results of all instruction sets are equal.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { LONGEST = 150, CANARY = 0x55 };

/* Checks the quantized row q[n] of x[n]. q[n] must be a canary. */
static void check_row(float scale, const int8_t *q, const float *x, size_t n) {
    float most = 0;
    int finite = 1;
    for (size_t i = 0; i < n; i++) {
        finite &= isfinite(x[i]) != 0;
        most = fmaxf(most, fabsf(x[i]));
    }
    const int zero = !finite || most < AOEI_QUANTIZE_LEAST;
    kernel_compared(0, 0);
    if (finite)
        kernel_check_bits(scale, zero ? 0 : most / 127.0f, "scale", 0, n);
    else
        assert_true(isnan(scale));
    for (size_t i = 0; i < n; i++)
        if (q[i] != (zero ? 0 : (int)nearbyintf(x[i] * (127.0f / most))))
            fail_msg("n = %zu: element %zu, %a, is %d; the largest magnitude is %a", n, i, (double)x[i], q[i], (double)most);
    assert_int_equal(q[n], CANARY);
}

static void check_f32(const aoei_kernels *k, const float *x, size_t n) {
    int8_t q[LONGEST + 1];
    test_span s = test_span_create(n, 0);
    memcpy(s.data, x, n * sizeof *x);
    memset(q, CANARY, sizeof q);
    const float scale = k->quantize_f32(q, s.data, n);
    check_row(scale, q, s.data, n);
    test_span_free(&s);
}

static void check_bf16(const aoei_kernels *k, const float *x, size_t n) {
    int8_t q[LONGEST + 1];
    float values[LONGEST + 1];
    test_span s = test_span_create((n + 1) / 2, 0);
    aoei_bf16 *row = (aoei_bf16 *)(void *)(s.data + s.n) - n;
    for (size_t i = 0; i < n; i++) {
        row[i] = aoei_bf16_from_f32(x[i]);
        values[i] = aoei_bf16_to_f32(row[i]);
    }
    memset(q, CANARY, sizeof q);
    const float scale = k->quantize_bf16(q, row, n);
    check_row(scale, q, values, n);
    test_span_free(&s);
}

typedef void check_fn(const aoei_kernels *k, const float *x, size_t n);

/* Checks rows of all lengths with normally distributed values of all magnitudes, ties, and special values. */
static void check_rows(const aoei_kernels *k, check_fn *check_one) {
    float x[LONGEST];
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    for (size_t n = 0; n <= LONGEST; n++)
        for (int exponent = -130; exponent <= 120; exponent += 10) {
            for (size_t i = 0; i < n; i++)
                x[i] = ldexpf((float)aoei_rng_normal(&r), exponent);
            check_one(k, x, n);
        }
    for (size_t i = 0; i < LONGEST; i++)
        x[i] = i ? (float)i - 0.5f : -127;
    check_one(k, x, LONGEST); /* ties */
    for (size_t i = 0; i < test_n_specials; i++)
        for (size_t at = 0; at < LONGEST; at += 23) {
            for (size_t j = 0; j < LONGEST; j++)
                x[j] = (float)aoei_rng_normal(&r);
            x[at] = test_specials[i];
            check_one(k, x, LONGEST);
            memset(x, 0, sizeof x);
            x[at] = test_specials[i];
            check_one(k, x, LONGEST);
        }
}

static void rows_f32(const aoei_kernels *k) {
    check_rows(k, check_f32);
}

static void rows_bf16(const aoei_kernels *k) {
    check_rows(k, check_bf16);
}

static void test_f32(void **state) {
    (void)state;
    kernel_each_tier("quantize_f32", rows_f32);
}

static void test_bf16(void **state) {
    (void)state;
    kernel_each_tier("quantize_bf16", rows_bf16);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_f32), cmocka_unit_test(test_bf16)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
