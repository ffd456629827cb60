/* SPDX-License-Identifier: MIT
 * Tests quantiles and bandwidths against values computed by hand. Kernel densities are compared with the numerical
 * derivative of their cumulative distribution function, which the test computes with erfc. The integral of each density
 * must be 1.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "aoe.h"
#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/random.h"

static void near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance))
        fail_msg("expected %.17g, found %.17g", want, got);
}

static void quantiles_by_hand(void **state) {
    const double x[] = {40, 10, 30, 20}; /* the q-quantile is at position 3 q of the sorted values 10 20 30 40 */
    const double ties[] = {2, 1, 2, 2, 9};
    (void)state;
    near(aoe_quantile(x, 4, 0), 10, 0);
    near(aoe_quantile(x, 4, 1), 40, 0);
    near(aoe_quantile(x, 4, 0.5), 25, 0);
    near(aoe_quantile(x, 4, 0.25), 17.5, 1e-14);
    near(aoe_quantile(x, 4, 0.9), 37, 1e-13);
    near(aoe_quantile(x, 1, 0.7), 40, 0);
    near(aoe_quantile(ties, 5, 0.25), 2, 0);
    near(aoe_quantile(ties, 5, 0.75), 2, 0);
    near(aoe_quantile(ties, 5, 0.875), 5.5, 1e-14);
}

static void quantiles_at_the_edge(void **state) {
    const double infinite[] = {INFINITY, 1, INFINITY}, broken[] = {1, NAN};
    (void)state;
    near(aoe_quantile(infinite, 3, 0), 1, 0);
    assert_true(isinf(aoe_quantile(infinite, 3, 0.75)));
    assert_true(isnan(aoe_quantile(broken, 2, 0.5)) && isnan(aoe_quantile(broken, 0, 0.5)));
    assert_true(isnan(aoe_quantile(infinite, 3, 1.1)) && isnan(aoe_quantile(infinite, 3, -0.1)) &&
                isnan(aoe_quantile(infinite, 3, NAN)));
}

static void bandwidths_by_hand(void **state) {
    const double even[] = {1, 2, 3, 4,
                           5, 6, 7, 8};          /* the squared deviations sum to 42; the quartiles are 2.75 and 6.25 */
    const double outlier[] = {0, 1, 2, 3, 1000}; /* the quartiles are 1 and 3 */
    const double repeated[] = {5, 5, 5, 5, 7};   /* the quartiles are equal; the standard deviation is sqrt(3.2 / 4) */
    /* the standard deviation, sqrt(0.5), is greater than the interquartile range / 1.34 = 0.5 / 1.34 */
    const double large[] = {1e9, 1e9 + 1};
    const double constant[] = {3, 3, 3}, infinite[] = {1, INFINITY};
    (void)state;
    near(aoe_bandwidth(even, 8), 0.9 * sqrt(6) * pow(8, -0.2), 1e-14);
    near(aoe_bandwidth(outlier, 5), 0.9 * (2 / 1.34) * pow(5, -0.2), 1e-14);
    near(aoe_bandwidth(repeated, 5), 0.9 * sqrt(0.8) * pow(5, -0.2), 1e-14);
    near(aoe_bandwidth(large, 2), 0.9 * (0.5 / 1.34) * pow(2, -0.2), 1e-9);
    assert_true(isnan(aoe_bandwidth(constant, 3)) && isnan(aoe_bandwidth(even, 1)) && isnan(aoe_bandwidth(even, 0)));
    assert_true(isnan(aoe_bandwidth(infinite, 2)));
}

/* Returns the value at t of the cumulative distribution function of the kernel density of x [n] with bandwidth h. For
 * each finite bound `low` or `high`, every value of x is mirrored at the bound, and the kernel of the mirrored value is
 * added. */
static double cumulative(const double *x, size_t n, double h, double low, double high, double t) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double image[] = {x[i], 2 * low - x[i], 2 * high - x[i]};
        for (int k = 0; k < 3; k++)
            sum += isfinite(image[k]) ? 0.5 * erfc((image[k] - t) / (h * sqrt(2))) : 0;
    }
    return sum / (double)n;
}

enum { N = 40, M = 301 };

/* Sets x to N random values between low and high. */
static void make_sample(double x[N], double low, double high) {
    aoei_rng rng;
    aoei_rng_init(&rng, 7, AOEI_STREAM_TEST, 0);
    for (int i = 0; i < N; i++) {
        const double v = 0.5 + 0.4 * aoei_rng_normal(&rng);
        x[i] = v < low ? low : v > high ? high : v; /* some values are equal to the bounds */
    }
}

static void check_density(double low, double high) {
    double x[N], at[M], density[M];
    const double begin = isfinite(low) ? low : -3, end = isfinite(high) ? high : 4, h = 0.11, e = 1e-4;
    make_sample(x, low, high);
    for (int j = 0; j < M; j++)
        at[j] = begin + (end - begin) * j / (M - 1);
    assert_int_equal(aoe_density(x, N, h, low, high, at, M, density, NULL), 0);
    double integral = 0;
    for (int j = 0; j < M; j++) {
        const double derivative =
            (cumulative(x, N, h, low, high, at[j] + e) - cumulative(x, N, h, low, high, at[j] - e)) / (2 * e);
        near(density[j], derivative, 2e-6);
        integral += density[j] * (j == 0 || j == M - 1 ? 1 : j % 2 ? 4 : 2); /* Simpson's rule */
    }
    near(integral * (end - begin) / (M - 1) / 3, 1, 1e-7);
}

static void densities(void **state) {
    (void)state;
    check_density(-INFINITY, INFINITY);
    check_density(0, INFINITY);
    check_density(-INFINITY, 1);
    check_density(0, 1);
}

static void density_by_hand(void **state) {
    const double x[] = {1}, at[] = {1, 3, 0.5, 0.49};
    double density[4];
    (void)state;
    assert_int_equal(aoe_density(x, 1, 2, -INFINITY, INFINITY, at, 2, density, NULL), 0);
    near(density[0], 0.39894228040143268 / 2, 1e-16);
    near(density[1], 0.24197072451914337 / 2, 1e-16);
    /* the only value is at the bound 0.5, so its kernel and the mirrored kernel are equal; outside the bounds, the
     * density is 0 */
    assert_int_equal(aoe_density(x, 1, 0.5, 0.5, INFINITY, at, 4, density, NULL), 0);
    near(density[2], 2 * 0.24197072451914337 / 0.5, 1e-15);
    assert_true(density[3] == 0);
}

static void expect_rejected(const double *x, size_t n, double h, double low, double high) {
    const double at[] = {0.5};
    double density[1];
    aoe_error err = {0};
    assert_int_equal(aoe_density(x, n, h, low, high, at, 1, density, &err), AOE_EARG);
    assert_true(strlen(err.message) > 10);
}

static void bad_arguments(void **state) {
    const double x[] = {0.5, 2}, broken[] = {0.5, NAN}, infinite[] = {0.5, INFINITY};
    (void)state;
    expect_rejected(x, 0, 1, -1, 3);
    expect_rejected(x, 2, 0, -1, 3);
    expect_rejected(x, 2, -1, -1, 3);
    expect_rejected(x, 2, NAN, -1, 3);
    expect_rejected(x, 2, INFINITY, -1, 3);
    expect_rejected(x, 2, 1, -1, 1);
    expect_rejected(x, 2, 1, 1, 3);
    expect_rejected(broken, 2, 1, -1, 3);
    expect_rejected(infinite, 2, 1, -INFINITY, INFINITY);
}

static void without_memory(void **state) {
    const double x[] = {1, 2, 4};
    const int64_t live = aoei_alloc_live();
    (void)state;
    aoei_alloc_fail_at(1);
    assert_true(isnan(aoe_quantile(x, 3, 0.5)));
    aoei_alloc_fail_at(1);
    assert_true(isnan(aoe_bandwidth(x, 3)));
    aoei_alloc_fail_at(0);
    assert_int_equal(aoei_alloc_live(), live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_by_hand),  cmocka_unit_test(quantiles_at_the_edge),
        cmocka_unit_test(bandwidths_by_hand), cmocka_unit_test(densities),
        cmocka_unit_test(density_by_hand),    cmocka_unit_test(bad_arguments),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
