/* SPDX-License-Identifier: MIT
 * Tests clusters (a disjoint-set structure) against a simple reference. Also tests how clusters are assigned to parts,
 * such as training and test data: the sizes of the parts must match the given ratios, equal seeds must give equal
 * results, and one cluster may be very large. The speed is tested with 100,000 items.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/random.h"
#include "dataset/clusters.h"

static void test_numbers(void **state) {
    (void)state;
    aoei_clusters c;
    size_t of[7];
    assert_int_equal(aoei_clusters_create(&c, 7, NULL), 0);
    assert_int_equal(aoei_clusters_number(&c, of), 7);
    aoei_clusters_join(&c, 6, 3);
    aoei_clusters_join(&c, 5, 1);
    aoei_clusters_join(&c, 5, 6);
    aoei_clusters_join(&c, 3, 1);
    aoei_clusters_join(&c, 4, 4);
    assert_int_equal(aoei_clusters_number(&c, of), 4);
    const size_t want[7] = {0, 1, 2, 1, 3, 1, 1};
    assert_memory_equal(of, want, sizeof want);
    assert_int_equal(aoei_clusters_first(&c, 6), 1);
    assert_int_equal(aoei_clusters_first(&c, 4), 4);
    aoei_clusters_free(&c);
    aoei_clusters_free(&c);
}

/* Merges the clusters of random pairs of items, and compares the result with a simple reference, which stores a label
 * for each item. To merge two clusters, the reference relabels all items of one of them. */
static void test_reference(void **state) {
    (void)state;
    enum { N = 300, JOINS = 200 };
    size_t label[N], of[N], number[N];
    aoei_rng rng;
    aoei_clusters c;
    aoei_rng_init(&rng, 1, AOEI_STREAM_TEST, 0);
    assert_int_equal(aoei_clusters_create(&c, N, NULL), 0);
    for (size_t i = 0; i < N; i++)
        label[i] = i;
    for (int j = 0; j < JOINS; j++) {
        const size_t a = aoei_rng_below(&rng, N), b = aoei_rng_below(&rng, N);
        const size_t from = label[a], to = label[b];
        aoei_clusters_join(&c, a, b);
        for (size_t i = 0; i < N; i++)
            label[i] = label[i] == from ? to : label[i];
    }
    size_t count = 0;
    for (size_t i = 0; i < N; i++) {
        size_t first = 0;
        while (label[first] != label[i])
            first++;
        number[i] = first == i ? count++ : number[first];
    }
    assert_int_equal(aoei_clusters_number(&c, of), count);
    assert_memory_equal(of, number, sizeof number);
    aoei_clusters_free(&c);
}

/* Sets size[p] to the total weight of the clusters in part p. part[i] is the part of cluster i, and weight[i] is its
 * weight. */
static void sizes_of(const size_t *part, const size_t *weight, size_t n, size_t *size, size_t n_parts) {
    memset(size, 0, n_parts * sizeof *size);
    for (size_t i = 0; i < n; i++) {
        assert_true(part[i] < n_parts);
        size[part[i]] += weight[i];
    }
}

static void test_split(void **state) {
    (void)state;
    enum { N = 1000 };
    static size_t weight[N], part[N], again[N], other[N];
    const double ratio[4] = {80, 10, 0, 10};
    size_t size[4], total = 0;
    aoei_rng rng;
    aoei_rng_init(&rng, 2, AOEI_STREAM_TEST, 0);
    for (size_t i = 0; i < N; i++)
        total += weight[i] = i % 10 ? 1 : 1 + aoei_rng_below(&rng, 20);
    assert_int_equal(aoei_clusters_split(part, weight, N, ratio, 4, 7, NULL), 0);
    assert_int_equal(aoei_clusters_split(again, weight, N, ratio, 4, 7, NULL), 0);
    assert_int_equal(aoei_clusters_split(other, weight, N, ratio, 4, 8, NULL), 0);
    assert_memory_equal(part, again, sizeof part);
    assert_memory_not_equal(part, other, sizeof part);
    sizes_of(part, weight, N, size, 4);
    assert_int_equal(size[2], 0);
    /* there are many clusters of weight 1, so the weight of each part differs from its exact share by at most 1 */
    for (size_t p = 0; p < 4; p++)
        assert_true(fabs((double)size[p] - ratio[p] / 100 * (double)total) <= 1);
    /* every part with a positive ratio must contain clusters of weight 2 or more; the part with ratio 0 must be
     * empty */
    for (size_t p = 0; p < 4; p++) {
        size_t heavy = 0;
        for (size_t i = 0; i < N; i++)
            heavy += part[i] == p && weight[i] > 1;
        assert_true((heavy > 0) == (ratio[p] > 0));
    }
}

static void test_large_cluster(void **state) {
    (void)state;
    const size_t weight[5] = {1, 90, 1, 1, 7};
    const double ratio[2] = {0.5, 0.5};
    size_t part[5], size[2];
    assert_int_equal(aoei_clusters_split(part, weight, 5, ratio, 2, 42, NULL), 0);
    sizes_of(part, weight, 5, size, 2);
    assert_int_equal(size[part[1]], 90);
    assert_int_equal(aoei_clusters_split(part, weight, 0, ratio, 2, 42, NULL), 0);
}

static void test_bad_ratios(void **state) {
    (void)state;
    const size_t weight[1] = {1};
    const double bad[][2] = {{0, 0}, {1, -1}, {1, NAN}, {INFINITY, 1}};
    size_t part[1];
    aoe_error err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(aoei_clusters_split(part, weight, 1, bad[i], 2, 1, &err), AOE_EARG);
    assert_int_equal(aoei_clusters_split(part, weight, 1, NULL, 0, 1, &err), AOE_EARG);
}

/* Tests the speed: joining 100,000 items, in long chains and in pairs, must take less than 2 s of CPU time. */
static void test_large(void **state) {
    (void)state;
    enum { N = 100000 };
    aoei_clusters c;
    size_t *of = calloc(N, sizeof *of), *weight = calloc(N, sizeof *weight), *part = calloc(N, sizeof *part), size[3];
    const double ratio[3] = {0.8, 0.1, 0.1};
    assert_true(of && weight && part);
    const clock_t start = clock();
    assert_int_equal(aoei_clusters_create(&c, N, NULL), 0);
    for (size_t i = N / 2; i-- > 1;) /* chains of 1000 items, joined from the last item to the first */
        if (i % 1000)
            aoei_clusters_join(&c, i, i - 1);
    for (size_t i = N / 2; i + 1 < N; i += 2)
        aoei_clusters_join(&c, i + 1, i);
    const size_t n = aoei_clusters_number(&c, of);
    assert_int_equal(n, 50 + N / 4);
    for (size_t i = 0; i < N; i++)
        weight[of[i]]++;
    assert_int_equal(aoei_clusters_split(part, weight, n, ratio, 3, 42, NULL), 0);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 2);
    sizes_of(part, weight, n, size, 3);
    assert_int_equal(size[0], 80000);
    assert_int_equal(size[1], 10000);
    assert_int_equal(size[2], 10000);
    aoei_clusters_free(&c);
    free(of);
    free(weight);
    free(part);
}

static int make(void *arg) {
    (void)arg;
    aoei_clusters c;
    const size_t weight[3] = {1, 2, 3};
    const double ratio[2] = {1, 1};
    size_t part[3];
    int rc = aoei_clusters_create(&c, 3, NULL);
    if (!rc)
        rc = aoei_clusters_split(part, weight, 3, ratio, 2, 1, NULL);
    aoei_clusters_free(&c);
    return rc;
}

static void test_memory(void **state) {
    (void)state;
    assert_int_equal(test_alloc_failures(make, NULL, 10), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),       cmocka_unit_test(test_reference),  cmocka_unit_test(test_split),
        cmocka_unit_test(test_large_cluster), cmocka_unit_test(test_bad_ratios), cmocka_unit_test(test_large),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
