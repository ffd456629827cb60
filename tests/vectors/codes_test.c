/* SPDX-License-Identifier: MIT
 * Tests the encodings of vectors: layout and padding of the rows, signs, and for codes that the scale is the projection
 * and that the stored bound is above the norm of the residual, but only by a few roundings.
 */
#include <math.h>
#include <string.h>

#include "../support/support.h"
#include "base/random.h"
#include "vectors/codes.h"

enum { LONGEST = 700, CANARY = 0xa5 };

static void check_codes(const float *x, size_t D) {
    unsigned char row[LONGEST + 200];
    const size_t padded = aoei_codes_padded(D), stride = aoei_codes_stride(D);
    long double products = 0, squares = 0, residual = 0;
    float most = 0;
    memset(row, CANARY, sizeof row);
    aoei_codes_encode(x, D, row);
    const double scale = (double)aoei_codes_scale(row, padded), error = (double)aoei_codes_error(row, padded);
    for (size_t i = 0; i < D; i++)
        most = fmaxf(most, fabsf(x[i]));
    for (size_t i = 0; i < D; i++) {
        const double c = (int8_t)row[i];
        assert_true(fabs(c) <= 127);
        if (most >= 0x1p-100F)
            assert_true(fabs(c - (double)x[i] * 127 / (double)most) <= 0.5 + 1e-4);
        products += (long double)x[i] * (long double)c;
        squares += (long double)(c * c);
        const long double r = (long double)x[i] - (long double)(scale * c); /* the product is exact */
        residual += r * r;
    }
    for (size_t i = D; i < padded; i++)
        assert_int_equal(row[i], 0);
    assert_int_equal(row[stride], CANARY);
    const double norm = (double)sqrtl(residual);
    assert_true(error >= norm);
    assert_true(error <= norm * (1 + 0x1p-22) + 0x1p-148);
    if (most >= 0x1p-100F)
        assert_true(fabs(scale - (double)(products / squares)) <= scale * 0x1p-23);
    else
        assert_true(scale >= 0 && scale <= 0);
}

static void check_signs(const float *x, size_t D) {
    unsigned char row[LONGEST / 8 + 32];
    const size_t stride = aoei_signs_stride(D);
    memset(row, CANARY, sizeof row);
    aoei_signs_encode(x, D, row);
    for (size_t i = 0; i < stride * 8; i++)
        assert_int_equal(row[i / 128 * 16 + i % 16] >> i % 128 / 16 & 1, i < D && x[i] >= 0);
    assert_int_equal(row[stride], CANARY);
}

static void test_random(void **state) {
    (void)state;
    float x[LONGEST];
    aoei_rng r;
    aoei_rng_init(&r, 1, AOEI_STREAM_TEST, 0);
    for (size_t D = 1; D <= LONGEST; D += D < 140 ? 1 : 13)
        for (int exponent = -140; exponent <= 0; exponent += 20) {
            double squares = 0;
            for (size_t i = 0; i < D; i++) {
                x[i] = (float)aoei_rng_normal(&r);
                squares += (double)x[i] * (double)x[i];
            }
            for (size_t i = 0; i < D; i++)
                x[i] = (float)ldexp((double)x[i] / sqrt(squares), exponent);
            check_codes(x, D);
            check_signs(x, D);
        }
}

static void test_special(void **state) {
    (void)state;
    float x[LONGEST] = {0};
    for (size_t D = 1; D <= 130; D++) {
        check_codes(x, D); /* zeros */
        check_signs(x, D);
    }
    for (size_t i = 0; i < 255; i++)
        x[i] = ((float)i - 127) / 2048; /* exact codes: the residual is 0 */
    unsigned char row[LONGEST];
    aoei_codes_encode(x, 255, row);
    assert_true(aoei_codes_error(row, 256) <= 0);
    assert_true(aoei_codes_scale(row, 256) >= 0x1p-11F && aoei_codes_scale(row, 256) <= 0x1p-11F);
    for (size_t i = 0; i < 255; i++)
        assert_int_equal((int8_t)row[i], (int)i - 127);
    check_codes(x, 255);
    x[0] = -0.0F; /* the sign of -0 is that of 0 */
    check_signs(x, 255);
}

static void test_sizes(void **state) {
    (void)state;
    static const struct {
        size_t D, codes, signs;
    } sizes[] = {{1, 72, 16},    {64, 72, 16},   {65, 136, 16}, {128, 136, 16},
                 {129, 200, 32}, {384, 392, 48}, {768, 776, 96}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(aoei_codes_stride(sizes[i].D), sizes[i].codes);
        assert_int_equal(aoei_signs_stride(sizes[i].D), sizes[i].signs);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_special),
                                       cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
