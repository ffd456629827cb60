/* SPDX-License-Identifier: MIT
 * Tests softmax, also with bf16 results, and its gradient on every instruction set against double precision. The tests
 * cover lengths, alignments, outputs in the memory of inputs, masked elements, special values, and the exponential over
 * its whole range.
 *
 * The error bounds are in units of eps. Rounding s - max changes exp(s - max) by at most a factor of 1 + |s - max| / 2
 * eps. The sum has an error of half an eps for each addition in a SIMD lane. With the narrowest vectors, there are n /
 * 8 + 3 additions. The sum also has the errors of its terms, each weighted by its probability p. The tolerance in
 * kernels.def covers exp, the reciprocal and the products.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { LONGEST = 2 * 16 + 1, LONG = 1000 };

static double additions(size_t n) {
    return ((double)n / 8 + 3) / 2;
}

static void check_softmax(const float *p, const float *s, size_t n, aoei_tier tier) {
    double max = -INFINITY, sum = 0, spread = 0;
    int bad = 0;
    for (size_t i = 0; i < n; i++) {
        max = fmax(max, (double)s[i]);
        bad |= isnan(s[i]) || s[i] == INFINITY;
    }
    bad |= max == -INFINITY;
    for (size_t i = 0; i < n && !bad; i++) {
        const double e = exp((double)s[i] - max);
        sum += e;
        spread += e > 0 ? e * (max - (double)s[i]) : 0;
    }
    for (size_t i = 0; i < n; i++) {
        const double want = bad ? NAN : exp((double)s[i] - max) / sum;
        const double below = want > 0 ? max - (double)s[i] : 0;
        const double units = kernel_tolerance("softmax_f32") + below / 2 + spread / sum / 2 + additions(n);
        test_value(p[i], want, units * EPS32 * want + 0x1p-148, "softmax", tier, n, i);
    }
}

static void one_length(const aoei_kernels *k, size_t n, size_t slack, double sd) {
    test_span s = test_span_normal(n, slack, sd, (unsigned)n), p = test_span_create(n, slack);
    k->softmax_f32(p.data, s.data, n);
    check_softmax(p.data, s.data, n, k->tier);

    /* masked elements must be exactly 0 */
    for (size_t i = 1; i < n; i += 3)
        s.data[i] = -INFINITY;
    k->softmax_f32(p.data, s.data, n);
    check_softmax(p.data, s.data, n, k->tier);
    for (size_t i = 1; i < n; i += 3)
        assert_true(p.data[i] == 0);
    test_span in_place = test_span_create(n, slack + 1);
    memcpy(in_place.data, s.data, n * sizeof(float));
    k->softmax_f32(in_place.data, in_place.data, n);
    /* the result must not depend on the alignment or on whether the output is in the memory of the input */
    test_same_floats(in_place.data, p.data, n);
    test_span_free(&in_place);
    test_span_free(&s);
    test_span_free(&p);
}

/* Checks that softmax_bf16 rounds the results of softmax_f32 to bf16 and writes no other elements. */
static void rounded_length(const aoei_kernels *k, size_t n, double sd) {
    enum { AFTER = 16, UNUSED = 0x1234 };
    test_span s = test_span_normal(n, 1, sd, (unsigned)n), p = test_span_create(n, 0);
    aoei_bf16 *rounded = malloc((n + AFTER) * sizeof *rounded);
    assert_non_null(rounded);
    for (size_t i = 0; i < n + AFTER; i++)
        rounded[i] = UNUSED;
    for (size_t i = 1; i < n; i += 3)
        s.data[i] = -INFINITY;
    k->softmax_f32(p.data, s.data, n);
    k->softmax_bf16(rounded, s.data, n);
    for (size_t i = 0; i < n; i++) {
        const aoei_bf16 want = aoei_bf16_from_f32(kernel_stored(k, AOEI_BF16, p.data[i]));
        test_value(aoei_bf16_to_f32(rounded[i]), (double)aoei_bf16_to_f32(want), 0, "softmax_bf16", k->tier, n, i);
    }
    for (size_t i = n; i < n + AFTER; i++)
        assert_int_equal(rounded[i], UNUSED);
    free(rounded);
    test_span_free(&s);
    test_span_free(&p);
}

static void rounded_softmax(const aoei_kernels *k) {
    for (size_t n = 1; n <= LONGEST; n++) {
        rounded_length(k, n, 1);
        rounded_length(k, n, 60); /* some results are subnormal or 0 */
    }
    rounded_length(k, LONG, 3);
}

static void test_rounded_softmax(void **state) {
    (void)state;
    kernel_each_tier("softmax_bf16", rounded_softmax);
}

static void softmax(const aoei_kernels *k) {
    for (size_t n = 1; n <= LONGEST; n++)
        for (size_t slack = 0; slack < 3; slack++)
            one_length(k, n, slack, n % 2 ? 1 : 30);
    one_length(k, LONG, 1, 3);
}

static void test_softmax(void **state) {
    (void)state;
    kernel_each_tier("softmax_f32", softmax);
}

static void specials_in_softmax(const aoei_kernels *k) {
    for (size_t n = 1; n <= LONGEST; n++)
        for (size_t j = 0; j < test_n_specials; j++) {
            test_span s = test_span_normal(n, 0, 1, 7), p = test_span_create(n, 0);
            s.data[j % n] = test_specials[j];
            k->softmax_f32(p.data, s.data, n);
            check_softmax(p.data, s.data, n, k->tier);
            for (size_t i = 0; i < n; i++)
                s.data[i] = -INFINITY; /* if every element is masked, the result is NaN */
            k->softmax_f32(p.data, s.data, n);
            check_softmax(p.data, s.data, n, k->tier);
            test_span_free(&s);
            test_span_free(&p);
        }
}

static void test_specials_in_softmax(void **state) {
    (void)state;
    kernel_each_tier("softmax_f32", specials_in_softmax);
}

/* Tests the exponential on [-110, 0] with a softmax of the two scores 0 and x. The second result is exp(x) / (1 +
 * exp(x)). */
static void exponential(const aoei_kernels *k) {
    for (double x = 0; x > -110; x -= 1.0 / 1024) {
        const float s[2] = {0, (float)x};
        float p[2];
        k->softmax_f32(p, s, 2);
        /* s - max is exact because max is 0, so 2 eps cover exp, the sum, the reciprocal and the product */
        const double want = exp((double)s[1]) / (1 + exp((double)s[1]));
        test_value(p[1], want, 2 * EPS32 * want + 0x1p-148, "exp", k->tier, 2, 1);
    }
}

static void test_exponential(void **state) {
    (void)state;
    kernel_each_tier("softmax_f32", exponential);
}

static void check_cross_entropy(const aoei_kernels *k, size_t n, size_t slack, double sd) {
    const float scale = 0.375f;
    float stats[2], again[2];
    test_span s = test_span_normal(n, slack, sd, (unsigned)n), d = test_span_create(n, slack);
    k->cross_entropy_f32(d.data, stats, s.data, scale, n);
    double max = -INFINITY, sum = 0, spread = 0;
    for (size_t i = 0; i < n; i++)
        max = fmax(max, (double)s.data[i]);
    for (size_t i = 0; i < n; i++) {
        const double e = exp((double)s.data[i] - max);
        sum += e;
        spread += e * (max - (double)s.data[i]);
    }
    const double share = kernel_tolerance("cross_entropy_f32") + spread / sum / 2 + additions(n);
    test_value(stats[0], max, 0, "maximum", k->tier, n, 0);
    test_value(stats[1], sum, share * EPS32 * sum, "sum of exponentials", k->tier, n, 0);
    for (size_t i = 0; i < n; i++) {
        const double want = (double)scale * exp((double)s.data[i] - max) / sum, below = max - (double)s.data[i];
        test_value(d.data[i], want, (share + below / 2) * EPS32 * want + 0x1p-148, "cross entropy", k->tier, n, i);
    }
    test_span in_place = test_span_create(n, slack + 1);
    memcpy(in_place.data, s.data, n * sizeof(float));
    k->cross_entropy_f32(in_place.data, again, in_place.data, scale, n);
    test_same_floats(in_place.data, d.data, n);
    test_same_floats(again, stats, 2);
    s.data[n / 2] = NAN; /* NaN propagates to the whole row */
    k->cross_entropy_f32(d.data, stats, s.data, scale, n);
    assert_true(isnan(stats[1]));
    for (size_t i = 0; i < n; i++)
        assert_true(isnan(d.data[i]));
    test_span_free(&in_place);
    test_span_free(&s);
    test_span_free(&d);
}

static void cross_entropy(const aoei_kernels *k) {
    for (size_t n = 1; n <= LONGEST; n++)
        for (size_t slack = 0; slack < 3; slack++)
            check_cross_entropy(k, n, slack, n % 2 ? 1 : 30);
    check_cross_entropy(k, LONG, 1, 3);
}

static void test_cross_entropy(void **state) {
    (void)state;
    kernel_each_tier("cross_entropy_f32", cross_entropy);
}

static void gradient(const aoei_kernels *k) {
    const float scale = 0.125f;
    for (size_t m = 1; m <= LONGEST + 1; m++)
        for (size_t slack = 0; slack < 3; slack++) {
            const size_t n = m <= LONGEST ? m : LONG;
            test_span p = test_span_normal(n, slack, 1, 1), dp = test_span_normal(n, slack, 1, 2);
            test_span ds = test_span_create(n, slack);
            double dot = 0, size = 0;
            for (size_t i = 0; i < n; i++) {
                p.data[i] = fabsf(p.data[i]) / (float)n;
                dot += (double)p.data[i] * (double)dp.data[i];
                size += fabs((double)p.data[i] * (double)dp.data[i]);
            }
            k->softmax_grad_f32(ds.data, p.data, dp.data, scale, n);
            for (size_t i = 0; i < n; i++) {
                const double q = (double)p.data[i] * (double)scale, d = (double)dp.data[i];
                const double units = kernel_tolerance("softmax_grad_f32") * (fabs(d) + fabs(dot)) + additions(n) * size;
                test_value(ds.data[i], q * (d - dot), q * units * EPS32, "softmax gradient", k->tier, n, i);
            }
            k->softmax_grad_f32(dp.data, p.data, dp.data, scale, n);
            test_same_floats(dp.data, ds.data, n);
            dp.data[n / 2] = NAN; /* NaN propagates to the whole row */
            k->softmax_grad_f32(ds.data, p.data, dp.data, scale, n);
            for (size_t i = 0; i < n; i++)
                assert_true(isnan(ds.data[i]));
            test_span_free(&p);
            test_span_free(&dp);
            test_span_free(&ds);
        }
}

static void test_gradient(void **state) {
    (void)state;
    kernel_each_tier("softmax_grad_f32", gradient);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax),     cmocka_unit_test(test_specials_in_softmax),
        cmocka_unit_test(test_exponential), cmocka_unit_test(test_cross_entropy),
        cmocka_unit_test(test_gradient),    cmocka_unit_test(test_rounded_softmax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
