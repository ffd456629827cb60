/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests the eigenvalue solver for symmetric matrices. Eigenvalues are compared with an independent implementation of
 * Jacobi's method. The solver processes a matrix in blocks; the largest tested matrices consist of several blocks. For
 * an eigenvector v with the eigenvalue lambda, the residual A v - lambda v must be small, and the eigenvectors must be
 * orthonormal. Other tests cover matrices of low rank, diagonal matrices, repeated and tiny eigenvalues, the signs of
 * the eigenvectors, and different numbers of threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/eigen.h"
#include "base/random.h"

enum { MAX_N = 150, SMALL = 24 };

static double a[MAX_N * MAX_N], v[MAX_N * MAX_N], value[MAX_N];

/* Sets the matrix `a` [n, n] to X X^T / n + shift * I for a random matrix X [n, rank] whose column k is scaled by
 * decay^k. */
static void covariance(size_t n, size_t rank, double decay, double shift) {
    static double x[MAX_N * MAX_N];
    aoei_rng rng;
    aoei_rng_init(&rng, 1000 * n + rank, AOEI_STREAM_TEST, 11);
    for (size_t i = 0; i < n * rank; i++)
        x[i] = aoei_rng_normal(&rng) * pow(decay, (double)(i % rank));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = i == j ? shift : 0;
            for (size_t k = 0; k < rank; k++)
                sum += x[i * rank + k] * x[j * rank + k] / (double)n;
            a[i * n + j] = sum;
        }
}

/* Writes the eigenvectors of the matrix `a` [n, n] to `v`, one per row, and its eigenvalues to `value` [n]. */
static void solve(size_t n, aoei_pool *pool) {
    aoe_error err = {0};
    memcpy(v, a, n * n * sizeof *a);
    if (aoei_eigen_symmetric(v, value, n, pool, &err))
        fail_msg("%s", err.message);
}

/* Returns the largest magnitude of an eigenvalue. */
static double largest(size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(value[i]));
    return most;
}

/* Asserts that the eigenvalues are in descending order, that each residual is at most a small multiple of the rounding
 * error, that the eigenvectors are orthonormal, and that the component of largest magnitude of each eigenvector is
 * positive. */
static void check(size_t n) {
    const double bound = 4e-16 * 8 * sqrt((double)n) * (1 + largest(n));
    for (size_t i = 0; i < n; i++) {
        double length = 0, most = 0, signed_most = 0;
        assert_true(isfinite(value[i]) && (i == 0 || value[i] <= value[i - 1]));
        for (size_t j = 0; j < n; j++) {
            double product = 0;
            for (size_t k = 0; k < n; k++)
                product += a[j * n + k] * v[i * n + k];
            length += pow(product - value[i] * v[i * n + j], 2);
            if (fabs(v[i * n + j]) > most) {
                signed_most = v[i * n + j];
                most = fabs(signed_most);
            }
        }
        assert_true(sqrt(length) <= bound * 4);
        assert_true(signed_most > 0);
        for (size_t other = 0; other <= i; other++) {
            double dot = 0;
            for (size_t k = 0; k < n; k++)
                dot += v[i * n + k] * v[other * n + k];
            assert_true(fabs(dot - (other == i)) <= 1e-14 * sqrt((double)n) * 4);
        }
    }
}

/* Writes the eigenvalues of `from` [n, n] to out [n] in descending order, computed with cyclic Jacobi rotations. */
static void jacobi(const double *from, double *out, size_t n) {
    static double m[SMALL * SMALL];
    memcpy(m, from, n * n * sizeof *m);
    for (int round = 0; round < 60; round++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                if (m[p * n + q] == 0)
                    continue;
                const double angle = atan2(2 * m[p * n + q], m[q * n + q] - m[p * n + p]) / 2, c = cos(angle),
                             s = sin(angle);
                for (size_t k = 0; k < n; k++) {
                    const double x = m[k * n + p], y = m[k * n + q];
                    m[k * n + p] = c * x - s * y;
                    m[k * n + q] = s * x + c * y;
                }
                for (size_t k = 0; k < n; k++) {
                    const double x = m[p * n + k], y = m[q * n + k];
                    m[p * n + k] = c * x - s * y;
                    m[q * n + k] = s * x + c * y;
                }
            }
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (; at > 0 && out[at - 1] < m[i * n + i]; at--)
            out[at] = out[at - 1];
        out[at] = m[i * n + i];
    }
}

static void agrees_with_jacobi(void **state) {
    (void)state;
    double want[SMALL];
    for (size_t n = 1; n <= SMALL; n++) {
        covariance(n, n, 0.8, n % 3 == 0 ? -0.5 : 0);
        solve(n, NULL);
        check(n);
        jacobi(a, want, n);
        for (size_t i = 0; i < n; i++)
            assert_true(fabs(value[i] - want[i]) <= 1e-14 * (1 + largest(n)));
    }
}

static void satisfies_the_definition(void **state) {
    (void)state;
    static const size_t sizes[] = {63, 64, 65, MAX_N};
    for (size_t s = 0; s < 4; s++) {
        const size_t n = sizes[s];
        covariance(n, n, 0.9, 0);
        solve(n, NULL);
        check(n);
        covariance(n, 5, 0.1, 0); /* rank 5 */
        solve(n, NULL);
        check(n);
        assert_true(value[4] > 1e-12 && fabs(value[5]) < 1e-14);
        covariance(n, 3, 1, 2); /* all but three eigenvalues are 2 */
        solve(n, NULL);
        check(n);
        assert_true(fabs(value[n - 1] - 2) < 1e-13 && fabs(value[3] - 2) < 1e-13 && value[2] > 2);
    }
}

static void special_matrices(void **state) {
    (void)state;
    for (size_t n = 1; n <= 7; n++) { /* a diagonal matrix whose diagonal contains zeros and unsorted values */
        memset(a, 0, sizeof a);
        for (size_t i = 0; i < n; i++)
            a[i * n + i] = (double)((3 * i) % n);
        solve(n, NULL);
        check(n);
        for (size_t i = 0; i < n * n; i++)
            assert_true(v[i] == 0 || v[i] == 1);
        memset(a, 0, sizeof a);
        solve(n, NULL);
        check(n);
        for (size_t i = 0; i < n * n; i++) /* a matrix of ones */
            a[i] = 1;
        solve(n, NULL);
        check(n);
        assert_true(fabs(value[0] - (double)n) < 1e-13);
    }
    const double two[] = {2, -3, -3, 2};
    memcpy(a, two, sizeof two);
    solve(2, NULL);
    assert_true(fabs(value[0] - 5) < 1e-14 && fabs(value[1] + 1) < 1e-14);
    for (size_t scale = 0; scale < 2; scale++) { /* very large and very small values */
        covariance(20, 20, 0.9, 0);
        for (size_t i = 0; i < 400; i++)
            a[i] *= scale ? 1e70 : 1e-70;
        solve(20, NULL);
        double trace = 0, sum = 0;
        for (size_t i = 0; i < 20; i++) {
            trace += a[i * 20 + i];
            sum += value[i];
        }
        assert_true(fabs(trace - sum) <= 1e-13 * trace);
    }
}

static void rejects_non_finite_values(void **state) {
    (void)state;
    aoe_error err = {0};
    covariance(10, 10, 0.9, 0);
    a[3 * 10 + 4] = a[4 * 10 + 3] = INFINITY;
    assert_int_equal(aoei_eigen_symmetric(a, value, 10, NULL, &err), AOE_ENUMERIC);
    assert_non_null(strstr(err.message, "row 3 of a 10 x 10 matrix has a value that is not finite"));
}

static void does_not_depend_on_threads(void **state) {
    (void)state;
    static double first[MAX_N * MAX_N], values[MAX_N];
    covariance(MAX_N, MAX_N, 0.95, 0);
    solve(MAX_N, NULL);
    memcpy(first, v, sizeof v);
    memcpy(values, value, sizeof value);
    for (size_t threads = 1; threads <= 3; threads++) {
        aoei_pool *pool;
        assert_int_equal(aoei_pool_create(&pool, threads, NULL), 0);
        solve(MAX_N, pool);
        assert_memory_equal(v, first, sizeof v);
        assert_memory_equal(value, values, sizeof value);
        aoei_pool_destroy(pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_jacobi),         cmocka_unit_test(satisfies_the_definition),
        cmocka_unit_test(special_matrices),           cmocka_unit_test(rejects_non_finite_values),
        cmocka_unit_test(does_not_depend_on_threads),
    };
    return cmocka_run_group_tests_name("eigen", tests, NULL, NULL);
}
