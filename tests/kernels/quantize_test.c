/* SPDX-License-Identifier: MIT
 * Tests the quantization of rows to int8 for every instruction set. The scale and the int8 values are compared bit by
 * bit with the formulas in kernels.h, so the results of all instruction sets are equal.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { LONGEST = 150, CANARY = 0x55 };

/* Checks the quantized row q[n] of x[n], which is already multiplied by its factors. q[n] must be a canary. */
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
            fail_msg("n = %zu: element %zu, %a, is %d; the largest magnitude is %a", n, i, (double)x[i], q[i],
                     (double)most);
    assert_int_equal(q[n], CANARY);
}

/* Checks quantize_f32, or quantize_bf16 if `bf16` is 1, without factors and with factors between 1/8 and 1. */
static void check_one(const aoei_kernels *k, int bf16, const float *x, size_t n) {
    int8_t q[LONGEST + 1];
    float values[LONGEST + 1];
    test_span s = test_span_create(bf16 ? (n + 1) / 2 : n, 0), factors = test_span_create(n, 0);
    aoei_bf16 *row = (aoei_bf16 *)(void *)(s.data + s.n) - n;
    for (size_t i = 0; i < n; i++) {
        factors.data[i] = 1 / (float)(1 + i % 8);
        if (bf16)
            row[i] = aoei_bf16_from_f32(x[i]);
        else
            s.data[i] = x[i];
    }
    for (int scaled = 0; scaled < 2; scaled++) {
        for (size_t i = 0; i < n; i++)
            values[i] = (bf16 ? aoei_bf16_to_f32(row[i]) : x[i]) * (scaled ? factors.data[i] : 1);
        memset(q, CANARY, sizeof q);
        const float *f = scaled ? factors.data : NULL;
        check_row(bf16 ? k->quantize_bf16(q, row, f, n) : k->quantize_f32(q, s.data, f, n), q, values, n);
    }
    test_span_free(&s);
    test_span_free(&factors);
}

/* Checks rows of all lengths with normally distributed values of all magnitudes, ties, and special values. */
static void check_rows(const aoei_kernels *k, int bf16) {
    float x[LONGEST];
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    for (size_t n = 0; n <= LONGEST; n += kernel_every())
        for (int exponent = -130; exponent <= 120; exponent += 10) {
            for (size_t i = 0; i < n; i++)
                x[i] = ldexpf((float)aoei_rng_normal(&r), exponent);
            check_one(k, bf16, x, n);
        }
    for (size_t i = 0; i < LONGEST; i++)
        x[i] = i ? (float)i - 0.5f : -127;
    check_one(k, bf16, x, LONGEST); /* ties */
    for (size_t i = 0; i < test_n_specials; i++)
        for (size_t at = 0; at < LONGEST; at += 23) {
            for (size_t j = 0; j < LONGEST; j++)
                x[j] = (float)aoei_rng_normal(&r);
            x[at] = test_specials[i];
            check_one(k, bf16, x, LONGEST);
            memset(x, 0, sizeof x);
            x[at] = test_specials[i];
            check_one(k, bf16, x, LONGEST);
        }
}

static void rows_f32(const aoei_kernels *k) {
    check_rows(k, 0);
}

static void rows_bf16(const aoei_kernels *k) {
    check_rows(k, 1);
}

/* Checks that the parts of an integer differ by at most 1 and add up to it, and that each has the value of the
 * formula. */
static void split(const aoei_kernels *k) {
    enum { MOST = 65 };
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    for (size_t parts = 1; parts <= MOST; parts += kernel_every())
        for (int trial = 0; trial < 20; trial++) {
            const float scale = ldexpf(1 + (float)aoei_rng_uniform(&r), (int)aoei_rng_below(&r, 100) - 50);
            const float x =
                trial ? (float)(2 * aoei_rng_uniform(&r) - 1) * 127 * (float)parts * scale : 127 * (float)parts * scale;
            const int v = (int)nearbyintf(x / scale);
            test_span same = test_span_create(parts, 0), index = test_span_create(parts, 0),
                      factor = test_span_create(parts, 0);
            int8_t q[MOST + 1];
            int sum = 0;
            memset(q, CANARY, sizeof q);
            for (size_t i = 0; i < parts; i++) {
                same.data[i] = x;
                index.data[i] = (float)i;
                factor.data[i] = 1 / (float)parts;
            }
            k->split_int8(q, same.data, index.data, factor.data, scale, parts);
            for (size_t i = 0; i < parts; i++) {
                kernel_compared(0, 0);
                assert_int_equal(q[i], (int)floor((v + (double)i) / (double)parts));
                sum += q[i];
            }
            assert_int_equal(sum, v);
            assert_int_equal(q[parts], CANARY);
            test_span_free(&same);
            test_span_free(&index);
            test_span_free(&factor);
        }
}

static void test_split(void **state) {
    (void)state;
    kernel_each_tier("split_int8", split);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_f32), cmocka_unit_test(test_bf16),
                                       cmocka_unit_test(test_split)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
