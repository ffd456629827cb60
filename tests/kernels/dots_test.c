/* SPDX-License-Identifier: MIT
 * Tests the dot products of a query with rows of codes and of signs, for every instruction set. The results are
 * integers, so they must be equal to those of a simple loop with 64-bit sums. The last row ends at an inaccessible
 * page.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { LONGEST = 65536, MOST_ROWS = 70 };

static int64_t codes_dot(const int8_t *query, const unsigned char *row, size_t K) {
    int64_t sum = 0;
    for (size_t k = 0; k < K; k++)
        sum += query[k] * (int8_t)row[k];
    return sum;
}

static int64_t signs_dot(const int8_t *query, const unsigned char *row, size_t K) {
    int64_t sum = 0;
    for (size_t k = 0; k < K; k++)
        sum += row[k / 128 * 16 + k % 16] >> k % 128 / 16 & 1 ? query[k] : 0;
    return sum;
}

/* How the elements of a case are chosen. */
typedef enum fill { RANDOM, HIGHEST, LOWEST, OPPOSITE, FILLS } fill;

/* Checks n rows of K elements; `gap` bytes follow each row except the last one. */
static void check(const aoei_kernels *k, int signs, size_t n, size_t K, size_t gap, fill f, aoei_rng *r) {
    const size_t bytes = signs ? K / 8 : K, stride = bytes + gap, total = n ? (n - 1) * stride + bytes : 0;
    test_span query = test_span_create(K / 4, 0), rows = test_span_create((total + 3) / 4, 0),
              dots = test_span_create(n, 1);
    int8_t *q = (int8_t *)query.data;
    unsigned char *x = (unsigned char *)(rows.data + rows.n) - total;
    int32_t *got = (int32_t *)dots.data;
    for (size_t i = 0; i < K; i++)
        q[i] = (int8_t)(f == RANDOM ? (int)aoei_rng_below(r, 255) - 127 : f == HIGHEST ? 127 : -127);
    for (size_t i = 0; i < total; i++)
        x[i] = (unsigned char)(f == RANDOM                   ? aoei_rng_below(r, 256)
                               : signs                       ? 255
                               : f == LOWEST || f == HIGHEST ? (unsigned char)q[0]
                                                             : 127);
    (signs ? k->signs_dots : k->codes_dots)(got, q, x, stride, n, K);
    for (size_t i = 0; i < n; i++) {
        const int64_t want = signs ? signs_dot(q, x + i * stride, K) : codes_dot(q, x + i * stride, K);
        kernel_compared(0, 0);
        if (got[i] != want)
            fail_msg("%s: row %zu of %zu with %zu elements, kind %d: %d instead of %lld", aoei_tier_name(k->tier), i, n,
                     K, (int)f, (int)got[i], (long long)want);
    }
    test_span_free(&query);
    test_span_free(&rows);
    test_span_free(&dots);
}

static void check_all(const aoei_kernels *k, int signs) {
    const size_t step = signs ? 128 : 64;
    aoei_rng r = kernel_rng(aoei_tier_name(k->tier));
    for (size_t n = 0; n <= MOST_ROWS; n += kernel_every())
        check(k, signs, n, 3 * step, n % 3 * 8, RANDOM, &r);
    for (size_t K = 0; K <= 20 * step; K += step)
        for (size_t n = 1; n <= 19; n += 9)
            check(k, signs, n, K, 8, RANDOM, &r);
    for (fill f = 0; f < FILLS; f++) {
        check(k, signs, 5, 8192, 8, f, &r);
        check(k, signs, 18, 8192 + step, 0, f, &r);
        check(k, signs, 2, LONGEST, 0, f, &r);
    }
}

static void codes(const aoei_kernels *k) {
    check_all(k, 0);
}

static void signs(const aoei_kernels *k) {
    check_all(k, 1);
}

static void test_codes(void **state) {
    (void)state;
    kernel_each_tier("codes_dots", codes);
}

static void test_signs(void **state) {
    (void)state;
    kernel_each_tier("signs_dots", signs);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_codes), cmocka_unit_test(test_signs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
