/* SPDX-License-Identifier: MIT
 * Tests the similarities of embeddings with values computed by hand, and with sums in their plain order. The values for
 * vectors of small integers are exact.
 */
#include <math.h>

#include "../support/support.h"
#include "base/random.h"
#include "vectors/similarity.h"

enum { MOST = 70 };

static void assert_value(aoe_similarity_function f, const float *x, const float *y, size_t dims, double want) {
    const double got = aoei_similarity_value(f, x, y, dims);
    if (!(fabs(got - want) <= 1e-15 * fabs(want)))
        fail_msg("similarity %d of %zu components: expected %.17g, found %.17g", (int)f, dims, want, got);
}

static void test_by_hand(void **state) {
    (void)state;
    const float x[] = {1, -2, 0, 4}, y[] = {4, 2, 0, 4};
    assert_value(AOE_SIMILARITY_COSINE, x, y, 4, 16 / sqrt(21.0 * 36.0));
    assert_value(AOE_SIMILARITY_DOT, x, y, 4, 16);
    assert_value(AOE_SIMILARITY_EUCLIDEAN, x, y, 4, -5);
    assert_value(AOE_SIMILARITY_MANHATTAN, x, y, 4, -7);
    for (int f = AOE_SIMILARITY_DOT; f < AOE_SIMILARITY_COUNT; f++)
        assert_value((aoe_similarity_function)f, x, y, 0, 0);
    const float nan[] = {NAN, 0};
    assert_true(isnan(aoei_similarity_value(AOE_SIMILARITY_MANHATTAN, nan, y, 2)));
}

/* Tests all sizes around multiples of the number of partial sums. The components of larger indices must be used. */
static void test_sizes(void **state) {
    (void)state;
    float x[MOST], y[MOST];
    double dot = 0, squares = 0, sum = 0;
    aoei_rng r;
    aoei_rng_init(&r, 1, AOEI_STREAM_TEST, 0);
    for (size_t n = 0; n < MOST; n++) {
        assert_value(AOE_SIMILARITY_DOT, x, y, n, dot);
        assert_value(AOE_SIMILARITY_EUCLIDEAN, x, y, n, -sqrt(squares));
        assert_value(AOE_SIMILARITY_MANHATTAN, x, y, n, -sum);
        x[n] = (float)aoei_rng_below(&r, 101) - 50;
        y[n] = x[n] - 1 - (float)aoei_rng_below(&r, 50);
        const double a = (double)x[n], b = (double)y[n];
        dot += a * b;
        squares += (a - b) * (a - b);
        sum += a - b;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand), cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
