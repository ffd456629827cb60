/* SPDX-License-Identifier: MIT
 * Tests Pearson and Spearman correlations and average ranks, mostly against values computed by hand.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/random.h"
#include "stats/correlation.h"

static void near(double got, double want) {
    assert_true(fabs(got - want) <= 1e-14);
}

static void pearson_by_hand(void **state) {
    /* the deviations of x are -1.5 -.5 .5 1.5 and of y -1 -2 2 1. The sum of their products is 5, and the sums of their
     * squares are 5 and 10. The result is 5 / sqrt(50). */
    const double x[] = {1, 2, 3, 4}, y[] = {2, 1, 5, 4};
    const double up[] = {10, 20, 30, 40}, down[] = {8, 6, 4, 2};
    (void)state;
    near(aoe_pearson(x, y, 4), 5.0 / sqrt(50.0));
    near(aoe_pearson(x, up, 4), 1.0);
    near(aoe_pearson(x, down, 4), -1.0);
    near(aoe_pearson(x, x, 2), 1.0);
}

/* Tests values whose squares overflow or underflow a double. */
static void pearson_of_any_size(void **state) {
    const double x[] = {1, 2, 3, 4}, y[] = {2, 1, 5, 4};
    (void)state;
    for (int e = -1022; e <= 1020; e += 2) {
        double scaled[4];
        for (size_t i = 0; i < 4; i++)
            scaled[i] = ldexp(x[i], e);
        assert_true(!(fabs(aoe_pearson(scaled, y, 4) - aoe_pearson(x, y, 4)) > 0));
        assert_true(!(fabs(aoe_pearson(y, scaled, 4) - aoe_pearson(x, y, 4)) > 0));
    }
}

static void spearman_by_hand(void **state) {
    /* the ranks of x are 1 2 3 4 5 and of y 2 1 4 3 5; the result is 1 - 6 * 4 / (5 * 24) = 0.8 */
    const double x[] = {0.1, 0.2, 0.5, 100, 1e6}, y[] = {-3, -9, 7, 0, 8};
    const double cubes[] = {1e-3, 8e-3, 0.125, 1e6, 1e18};
    (void)state;
    near(aoe_spearman(x, y, 5), 0.8);
    near(aoe_spearman(x, cubes, 5), 1.0);
    assert_true(aoe_pearson(x, cubes, 5) < 1.0);
}

static void spearman_with_ties(void **state) {
    /* The ranks of x are 1 2.5 2.5 4, and their deviations are -1.5 0 0 1.5. The ranks of y are 1 2 3 4, and their
     * deviations are -1.5 -.5 .5 1.5. The result is 4.5 / sqrt(4.5 * 5). */
    const double x[] = {1, 2, 2, 3}, y[] = {1, 2, 3, 4};
    /* Both a and b have ties. The ranks of a are 1.5 1.5 3.5 3.5, and their deviations are -1 -1 1 1. The ranks of b
     * are 1 3 3 3, and their deviations are -1.5 .5 .5 .5. The result is 2 / sqrt(4 * 3). */
    const double a[] = {0, 0, 1, 1}, b[] = {-1, 5, 5, 5};
    (void)state;
    near(aoe_spearman(x, y, 4), 4.5 / sqrt(4.5 * 5.0));
    near(aoe_spearman(a, b, 4), 2.0 / sqrt(12.0));
    near(aoe_spearman(b, a, 4), 2.0 / sqrt(12.0));
}

static void ranks_are_averages(void **state) {
    const double x[] = {5, -1, 5, 0.0, -0.0, 5, 7};
    const double want[] = {5, 1, 5, 2.5, 2.5, 5, 7};
    double rank[7];
    size_t order[7], scratch[7];
    (void)state;
    aoei_ranks(x, 7, rank, order, scratch);
    for (size_t i = 0; i < 7; i++)
        assert_true(rank[i] == want[i]);
}

/* Tests that the correlation with constant values is NaN. In floating point, the sum of n values 0.1 is not exactly n *
 * 0.1, so the computed deviations are not zero. The function must therefore detect constant values by comparing
 * them. */
static void undefined_is_nan(void **state) {
    const double x[] = {1, 2, 3}, constant[] = {0.1, 0.1, 0.1}, broken[] = {1, NAN, 3}, infinite[] = {1, INFINITY, 3};
    (void)state;
    assert_true(isnan(aoe_pearson(x, constant, 3)) && isnan(aoe_pearson(constant, x, 3)));
    assert_true(isnan(aoe_spearman(x, constant, 3)) && isnan(aoe_spearman(constant, x, 3)));
    assert_true(isnan(aoe_pearson(x, broken, 3)) && isnan(aoe_pearson(broken, x, 3)));
    assert_true(isnan(aoe_spearman(x, broken, 3)) && isnan(aoe_spearman(broken, x, 3)));
    assert_true(isnan(aoe_pearson(x, infinite, 3)));
    near(aoe_spearman(x, infinite, 3), 0.5); /* infinite values have ranks; here the ranks are 1 3 2 */
    assert_true(isnan(aoe_pearson(x, x, 1)) && isnan(aoe_spearman(x, x, 1)));
    assert_true(isnan(aoe_pearson(x, x, 0)) && isnan(aoe_spearman(x, x, 0)));
}

static void offset_keeps_precision(void **state) {
    double x[500], y[500], shifted_x[500], shifted_y[500];
    aoei_rng rng;
    (void)state;
    aoei_rng_init(&rng, 3, AOEI_STREAM_TEST, 0);
    for (size_t i = 0; i < 500; i++) {
        x[i] = (double)aoei_rng_below(&rng, 1u << 20);
        y[i] = x[i] + (double)aoei_rng_below(&rng, 1u << 20);
        shifted_x[i] = x[i] + 0x1p50; /* the sum is exact, because both summands are integers below 2^53 */
        shifted_y[i] = y[i] - 0x1p50;
    }
    double r = aoe_pearson(x, y, 500);
    assert_true(r > 0.5 && r < 0.9);
    near(aoe_pearson(shifted_x, shifted_y, 500), r);
    assert_true(aoe_spearman(shifted_x, shifted_y, 500) == aoe_spearman(x, y, 500));
}

/* Compares Spearman correlations with their definition, computed in long double. The ranks are computed by counting
 * smaller and equal values; Pearson's formula is then applied to the ranks. */
static void spearman_matches_definition(void **state) {
    enum { N = 257 };
    double x[N], y[N];
    long double rx[N], ry[N], sx = 0, sy = 0, sxy = 0;
    aoei_rng rng;
    (void)state;
    aoei_rng_init(&rng, 4, AOEI_STREAM_TEST, 0);
    for (size_t i = 0; i < N; i++) {
        x[i] = (double)aoei_rng_below(&rng, 25) / 5.0;
        y[i] = x[i] + aoei_rng_normal(&rng);
    }
    for (size_t i = 0; i < N; i++) {
        rx[i] = ry[i] = 0.5L - N / 2.0L;
        for (size_t j = 0; j < N; j++) {
            rx[i] += x[j] < x[i] ? 1.0L : x[j] == x[i] ? 0.5L : 0.0L;
            ry[i] += y[j] < y[i] ? 1.0L : y[j] == y[i] ? 0.5L : 0.0L;
        }
        rx[i] -= 0.5L;
        ry[i] -= 0.5L;
    }
    for (size_t i = 0; i < N; i++) {
        sx += rx[i] * rx[i];
        sy += ry[i] * ry[i];
        sxy += rx[i] * ry[i];
    }
    near(aoe_spearman(x, y, N), (double)(sxy / sqrtl(sx * sy)));
}

static void memory_failure_is_nan(void **state) {
    const double x[] = {1, 2, 3};
    int64_t live = aoei_alloc_live();
    (void)state;
    for (uint64_t n = 1; n <= 2; n++) {
        aoei_alloc_fail_at(n);
        assert_true(isnan(aoe_spearman(x, x, 3)));
        aoei_alloc_fail_at(0);
    }
    near(aoe_spearman(x, x, 3), 1.0);
    assert_true(aoei_alloc_live() == live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pearson_by_hand),        cmocka_unit_test(pearson_of_any_size),
        cmocka_unit_test(spearman_by_hand),       cmocka_unit_test(spearman_with_ties),
        cmocka_unit_test(ranks_are_averages),     cmocka_unit_test(undefined_is_nan),
        cmocka_unit_test(offset_keeps_precision), cmocka_unit_test(spearman_matches_definition),
        cmocka_unit_test(memory_failure_is_nan),
    };
    return cmocka_run_group_tests_name("correlation", tests, NULL, NULL);
}
