/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests the map of vectors. The coordinates are compared with those from the eigenvectors of the complete covariance
 * matrix (base/eigen), for more vectors than components and the other way round, and for sizes that need a restart of
 * the iteration. Other tests cover signs, vectors that differ in fewer than two directions, equal bits for any number
 * of threads, and failed allocations.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/eigen.h"
#include "base/random.h"
#include "serve/pca.h"

enum { MAX_N = 300, MAX_D = 200 };

static float x[MAX_N * MAX_D], out[2 * MAX_N];

/* Sets x [n, d] to random vectors around 1, in which direction k has the standard deviation decay^k. */
static void fill(size_t n, size_t d, double decay) {
    aoei_rng rng;
    aoei_rng_init(&rng, n * 1000 + d, AOEI_STREAM_TEST, 49);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            x[i * d + j] = (float)(1 + aoei_rng_normal(&rng) * pow(decay, (double)j));
}

/* Compares `out` with the projections on the eigenvectors of the covariance matrix. */
static void check(size_t n, size_t d, const double *share) {
    static double c[MAX_D * MAX_D], value[MAX_D], mean[MAX_D];
    double trace = 0;
    aoe_error err = {0};
    memset(c, 0, sizeof c);
    for (size_t j = 0; j < d; j++) {
        mean[j] = 0;
        for (size_t i = 0; i < n; i++)
            mean[j] += (double)x[i * d + j] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            for (size_t k = 0; k < d; k++)
                c[j * d + k] += ((double)x[i * d + j] - mean[j]) * ((double)x[i * d + k] - mean[k]);
    for (size_t j = 0; j < d; j++)
        trace += c[j * d + j];
    if (aoei_eigen_symmetric(c, value, d, NULL, &err))
        fail_msg("%s", err.message);
    for (size_t v = 0; v < 2; v++) {
        assert_true(fabs(share[v] - value[v] / trace) <= 1e-9);
        for (size_t i = 0; i < n; i++) {
            double want = 0;
            for (size_t j = 0; j < d; j++)
                want += ((double)x[i * d + j] - mean[j]) * c[v * d + j];
            if (!(fabs((double)out[2 * i + v] - want) <= 2e-7 * sqrt(value[0])))
                fail_msg("n %zu, d %zu, axis %zu: %.9g instead of %.9g", n, d, v, (double)out[2 * i + v], want);
        }
    }
}

static void test_against_covariance(void **state) {
    (void)state;
    static const struct {
        size_t n, d;
        double decay;
    } cases[] = {{10, 3, 0.5},   {3, 10, 0.7},    {2, 2, 0.5},     {64, 64, 0.8},    {300, 20, 0.9}, {20, 200, 0.9},
                 {70, 65, 0.97}, {300, 200, 0.9}, {150, 200, 0.9}, {200, 150, 0.97}, {300, 200, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double share[2];
        aoe_error err = {0};
        fill(cases[i].n, cases[i].d, cases[i].decay);
        if (aoei_pca(x, cases[i].n, cases[i].d, out, share, NULL, &err))
            fail_msg("%s", err.message);
        check(cases[i].n, cases[i].d, share);
    }
}

static void test_few_directions(void **state) {
    (void)state;
    double share[2];
    const float equal[] = {0.1F, 0.2F, 0.3F, 0.1F, 0.2F, 0.3F, 0.1F, 0.2F, 0.3F};
    const float zero[6] = {0}, line[] = {0, 0, 0, 4, 2, 0, -4, -2, 0};
    assert_int_equal(aoei_pca(equal, 3, 3, out, share, NULL, NULL), 0);
    assert_memory_equal(out, zero, sizeof zero);
    assert_true(!(share[0] > 0) && !(share[1] > 0));
    assert_int_equal(aoei_pca(equal, 1, 3, out, NULL, NULL, NULL), 0);
    assert_memory_equal(out, zero, 2 * sizeof *out);
    assert_int_equal(aoei_pca(equal, 0, 3, out, share, NULL, NULL), 0);
    assert_int_equal(aoei_pca(equal, 2, 0, out, share, NULL, NULL), 0);
    assert_int_equal(aoei_pca(line, 3, 3, out, share, NULL, NULL), 0);
    assert_true(fabs((double)out[2] - sqrt(20)) < 1e-6 && fabs((double)out[4] + sqrt(20)) < 1e-6);
    assert_true(fabs((double)out[0]) < 1e-6 && fabs(share[0] - 1) < 1e-12);
    for (int i = 0; i < 3; i++)
        assert_true(!(fabsf(out[2 * i + 1]) > 0));
    const float one_component[] = {1, 2, 6};
    assert_int_equal(aoei_pca(one_component, 3, 1, out, share, NULL, NULL), 0);
    assert_true(fabs((double)out[0] + 2) < 1e-6 && fabs((double)out[4] - 3) < 1e-6 && !(fabsf(out[5]) > 0));
}

/* The order of the vectors does not change the signs of the axes. */
static void test_signs(void **state) {
    (void)state;
    enum { N = 40, D = 30 };
    static float first[2 * N], reversed[N * D];
    fill(N, D, 0.8);
    assert_int_equal(aoei_pca(x, N, D, first, NULL, NULL, NULL), 0);
    for (size_t i = 0; i < N; i++)
        memcpy(reversed + (N - 1 - i) * D, x + i * D, D * sizeof *x);
    assert_int_equal(aoei_pca(reversed, N, D, out, NULL, NULL, NULL), 0);
    for (size_t i = 0; i < N; i++)
        for (size_t v = 0; v < 2; v++)
            assert_true(fabsf(out[2 * (N - 1 - i) + v] - first[2 * i + v]) < 1e-5F);
}

static void test_threads(void **state) {
    (void)state;
    static float first[2 * MAX_N];
    const size_t sizes[][2] = {{MAX_N, 130}, {100, MAX_D}};
    for (int i = 0; i < 2; i++) {
        const size_t n = sizes[i][0], d = sizes[i][1];
        fill(n, d, 0.99);
        assert_int_equal(aoei_pca(x, n, d, first, NULL, NULL, NULL), 0);
        for (size_t threads = 2; threads <= 5; threads++) {
            aoei_pool *pool;
            assert_int_equal(aoei_pool_create(&pool, threads, NULL), 0);
            assert_int_equal(aoei_pca(x, n, d, out, NULL, pool, NULL), 0);
            aoei_pool_destroy(pool);
            assert_memory_equal(out, first, 2 * n * sizeof *out);
        }
    }
}

static void test_not_finite(void **state) {
    (void)state;
    aoe_error err;
    fill(5, 4, 0.9);
    x[2 * 4 + 1] = NAN;
    assert_int_equal(aoei_pca(x, 5, 4, out, NULL, NULL, &err), AOE_ENUMERIC);
    assert_string_equal(err.message, "vector 2 has a component that is not finite (component 1)");
}

static int run(void *arg) {
    aoe_error err = {0};
    (void)arg;
    return aoei_pca(x, 20, 10, out, NULL, NULL, &err);
}

static void test_out_of_memory(void **state) {
    (void)state;
    fill(20, 10, 0.9);
    assert_true(test_alloc_failures(run, NULL, 0) >= 2);
    assert_int_equal(aoei_pca(x, SIZE_MAX / 4, SIZE_MAX / 4, NULL, NULL, NULL, NULL), AOE_ENOMEM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_covariance),
        cmocka_unit_test(test_few_directions),
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
