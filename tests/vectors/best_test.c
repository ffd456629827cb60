/* SPDX-License-Identifier: MIT
 * Tests the k best neighbors: the result must be the first k elements of the sorted sequence, for any order in which
 * neighbors are added, with and without a callback for equal scores.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/random.h"
#include "vectors/best.h"

enum { N = 200 };

/* An order of rows that differs from the order of their numbers. */
static int by_low_bits(void *user, uint32_t a, uint32_t b) {
    const uint32_t *factor = user;
    return a * *factor % 1009 < b * *factor % 1009;
}

/* Checks that the selection moves the elements of best[k] to the start of all[n]. */
static void check_select(aoei_neighbor *all, size_t n, size_t k, const aoei_neighbor *best, aoei_order_fn order,
                         void *user) {
    aoei_neighbor x[N];
    memcpy(x, all, n * sizeof *x);
    aoei_best_select(x, n, k, order, user);
    for (size_t i = 0; i < n; i++) {
        size_t at = 0, seen = 0;
        for (size_t o = 0; o < n; o++) {
            seen += x[o].text == all[i].text;
            at = x[o].text == all[i].text ? o : at;
        }
        assert_int_equal(seen, 1);
        size_t is_best = 0;
        for (size_t o = 0; o < k; o++)
            is_best |= best[o].text == all[i].text;
        assert_int_equal(is_best, at < k);
    }
}

static void check(size_t n, size_t k, aoei_order_fn order, void *user, uint32_t seed) {
    aoei_neighbor all[N], best[N + 5];
    aoei_rng r;
    aoei_rng_init(&r, seed, AOEI_STREAM_TEST, (uint32_t)n);
    aoei_best_clear(best, k);
    for (size_t i = 0; i < n; i++)
        all[i] = (aoei_neighbor){(float)aoei_rng_below(&r, 7) - 3, (uint32_t)i};
    for (size_t i = n; i > 1; i--) { /* shuffles the neighbors */
        const size_t other = aoei_rng_below(&r, (uint32_t)i);
        const aoei_neighbor x = all[i - 1];
        all[i - 1] = all[other];
        all[other] = x;
    }
    for (size_t i = 0; i < n; i++)
        aoei_best_add(best, k, all[i], order, user);
    aoei_best_sort(best, k, order, user);
    check_select(all, n, k, best, order, user);
    for (size_t i = 0; i < k; i++) {
        if (i >= n) {
            assert_int_equal(best[i].text, AOEI_NO_TEXT);
            assert_true(isinf(best[i].score) && best[i].score < 0);
            continue;
        }
        size_t better = 0; /* number of neighbors that rank before element i */
        for (size_t o = 0; o < n; o++)
            better += all[o].score > best[i].score ||
                      (all[o].score >= best[i].score && all[o].text != best[i].text &&
                       (order ? order(user, all[o].text, best[i].text) : all[o].text < best[i].text));
        assert_int_equal(better, i);
    }
}

static void test_best(void **state) {
    (void)state;
    uint32_t factor = 37;
    static const size_t sizes[] = {0, 1, 2, 3, 10, 31, 32, 33, N};
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
        for (size_t k = 1; k <= sizes[n] + 5; k += k < 4 ? 1 : 13)
            for (uint32_t seed = 1; seed < 4; seed++) {
                check(sizes[n], k, NULL, NULL, seed);
                check(sizes[n], k, by_low_bits, &factor, seed);
            }
}

/* A missing neighbor ranks after a neighbor with the score -infinity, and the callback never gets its row. */
static void test_missing(void **state) {
    (void)state;
    uint32_t factor = 1;
    aoei_neighbor best[3];
    aoei_best_clear(best, 3);
    aoei_best_add(best, 3, (aoei_neighbor){-INFINITY, 8}, by_low_bits, &factor);
    aoei_best_add(best, 3, (aoei_neighbor){-INFINITY, 5}, by_low_bits, &factor);
    aoei_best_sort(best, 3, by_low_bits, &factor);
    assert_int_equal(best[0].text, 5);
    assert_int_equal(best[1].text, 8);
    assert_int_equal(best[2].text, AOEI_NO_TEXT);
    assert_false(aoei_neighbor_is_worse(best[0], best[0], by_low_bits, &factor));
}

/* An order that changes with each call. */
static int by_chance(void *user, uint32_t a, uint32_t b) {
    (void)a;
    (void)b;
    return (int)aoei_rng_below(user, 2);
}

static int never(void *user, uint32_t a, uint32_t b) {
    (void)user;
    (void)a;
    (void)b;
    return 0;
}

/* An order that contradicts itself, as that of a callback that fails, only permutes the elements of the array. */
static void test_inconsistent_order(void **state) {
    (void)state;
    enum { GUARD = 50 };
    aoei_neighbor x[GUARD + N + GUARD];
    aoei_rng r;
    aoei_rng_init(&r, 5, AOEI_STREAM_TEST, 0);
    for (size_t round = 0; round < 2000; round++) {
        const size_t n = 2 + round % (N - 1), k = 1 + aoei_rng_below(&r, (uint32_t)n);
        for (size_t i = 0; i < sizeof x / sizeof *x; i++)
            x[i] = (aoei_neighbor){0.5F, (uint32_t)i};
        aoei_best_select(x + GUARD, n, k, round % 2 ? by_chance : never, &r);
        unsigned char seen[GUARD + N + GUARD] = {0};
        for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
            const int outside = i < GUARD || i >= GUARD + n;
            assert_true(outside ? x[i].text == i : x[i].text >= GUARD && x[i].text < GUARD + n);
            assert_false(seen[x[i].text]++);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_best), cmocka_unit_test(test_missing),
                                       cmocka_unit_test(test_inconsistent_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
