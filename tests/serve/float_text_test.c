/* SPDX-License-Identifier: MIT
 * Tests the decimal text of numbers. For every exponent, many float32 values are written and read back. The expected
 * number of digits comes from printf with an increasing precision: no text may have more digits, and none with the same
 * number of digits may be farther from the value. printf rounds to the closest decimal, which is below the midpoint to
 * the lower neighbor of some powers of two; a text may therefore have fewer digits for powers of two.
 */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/random.h"
#include "serve/float_text.h"

static float of_bits(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static const char *text(float v) {
    static char out[AOEI_FLOAT_BYTES];
    memset(out, 'x', sizeof out);
    const size_t n = aoei_float_text(out, v);
    assert_int_equal(n, strlen(out));
    return out;
}

static const char *text_of_double(double v) {
    static char out[AOEI_DOUBLE_BYTES];
    const size_t n = aoei_double_text(out, v);
    assert_int_equal(n, strlen(out));
    return out;
}

static void test_known_texts(void **state) {
    (void)state;
    static const struct {
        float v;
        const char *want;
    } cases[] = {
        {0.0F, "0.0"},
        {-0.0F, "-0.0"},
        {1, "1.0"},
        {-25, "-25.0"},
        {100, "100.0"},
        {0.1F, "0.1"},
        {0.3F, "0.3"},
        {0.0123F, "0.0123"},
        {-0.0123F, "-0.0123"},
        {123456.789F, "123456.79"},
        {16777216, "16777216.0"},
        {33554432, "33554432.0"},
        {1e11F, "100000000000.0"},
        {1e12F, "1e12"},
        {1e-5F, "0.00001"},
        {9.9999e-6F, "9.9999e-6"},
        {1.5e-7F, "1.5e-7"},
        {1.5e20F, "1.5e20"},
        {FLT_MAX, "3.4028235e38"},
        {-FLT_MAX, "-3.4028235e38"},
        {FLT_MIN, "1.1754944e-38"},
        {FLT_TRUE_MIN, "1e-45"},
        {NAN, "null"},
        {INFINITY, "null"},
        {-INFINITY, "null"},
        {0x1p-96F, "1.2621775e-29"}, /* the closest decimal of 8 digits, ...774e-29, is read as the lower neighbor */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(text(cases[i].v), cases[i].want);
}

/* Returns the number of digits of a decimal without zeros at its ends. */
static int significant(const char *s) {
    int n = 0, last = 0;
    for (; *s && *s != 'e'; s++)
        if (*s >= (n ? '0' : '1') && *s <= '9') {
            n++;
            last = *s == '0' ? last : n;
        }
    return last;
}

static void check(float v) {
    char want[64];
    const char *s = text(v);
    const float back = strtof(s, NULL);
    if (memcmp(&back, &v, sizeof v) != 0)
        fail_msg("%a was written as %s", (double)v, s);
    for (int digits = 0; digits < 9; digits++) {
        snprintf(want, sizeof want, "%.*e", digits, (double)v);
        if (!(strtof(want, NULL) < v) && !(strtof(want, NULL) > v))
            break;
    }
    int exponent;
    const int is_power = !(fabsf(frexpf(v, &exponent)) > 0.5F), n = significant(s), most = significant(want);
    if (n > most || (n < most && !is_power) ||
        (n == most && (strtod(s, NULL) < strtod(want, NULL) || strtod(s, NULL) > strtod(want, NULL))))
        fail_msg("%a was written as %s instead of %s", (double)v, s, want);
}

static void test_all_exponents(void **state) {
    (void)state;
    aoei_rng rng;
    aoei_rng_init(&rng, 1, AOEI_STREAM_TEST, 49);
    const uint32_t n = TEST_SANITIZED ? 100 : 600;
    for (uint32_t exponent = 0; exponent < 255; exponent++)
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t edge = i < 8 ? i : 0x7FFFFF - (i - 8);
            const uint32_t m = i < 16 ? edge : (uint32_t)aoei_rng_below(&rng, 1 << 23);
            if (exponent || m)
                check(of_bits((i & 1) << 31 | exponent << 23 | m));
        }
}

static void test_short_decimals(void **state) {
    (void)state;
    char want[64];
    for (int exponent = -4; exponent <= 5; exponent++)
        for (int i = 1; i < 1000; i += 2) {
            snprintf(want, sizeof want, "%.*f", exponent < 0 ? -exponent + 2 : 2, i / 100.0 * pow(10, exponent));
            const float v = strtof(want, NULL);
            assert_true(significant(text(v)) <= significant(want));
        }
}

static void test_doubles(void **state) {
    (void)state;
    assert_string_equal(text_of_double(0.1), "0.1");
    assert_string_equal(text_of_double(0.1 + 0.2), "0.30000000000000004");
    assert_string_equal(text_of_double(-25), "-25.0");
    assert_string_equal(text_of_double(-0.0), "-0.0");
    assert_string_equal(text_of_double(1e300), "1e300");
    assert_string_equal(text_of_double(1.5e-5), "0.000015");
    assert_string_equal(text_of_double(DBL_TRUE_MIN), "5e-324");
    assert_string_equal(text_of_double(-DBL_MAX), "-1.7976931348623157e308");
    assert_string_equal(text_of_double(NAN), "null");
    aoei_rng rng;
    aoei_rng_init(&rng, 2, AOEI_STREAM_TEST, 49);
    for (int i = 0; i < 2000; i++) {
        const double v = ldexp(aoei_rng_normal(&rng), (int)aoei_rng_below(&rng, 600) - 300);
        const double back = strtod(text_of_double(v), NULL);
        assert_memory_equal(&back, &v, sizeof v);
    }
}

/* A locale with a decimal comma does not change the texts. It is not installed everywhere. */
static void test_locale(void **state) {
    (void)state;
    const char *before = setlocale(LC_NUMERIC, "de_DE.UTF-8");
    assert_string_equal(text(1.25e-9F), "1.25e-9");
    assert_string_equal(text_of_double(1234.5), "1234.5");
    if (before)
        setlocale(LC_NUMERIC, "C");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_texts), cmocka_unit_test(test_all_exponents), cmocka_unit_test(test_short_decimals),
        cmocka_unit_test(test_doubles),     cmocka_unit_test(test_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
