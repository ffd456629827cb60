/* SPDX-License-Identifier: MIT
 * Tests column sums and sums of squares on every instruction set, for lengths, strides, alignments and special values.
 * Each column has one float32 accumulator. The test adds in the order of the kernel, so column sums must be
 * bit-identical.
 */
#include <math.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

static void column_sum_case(const aoei_kernels *k, size_t rows, size_t n, size_t slack) {
    enum { GAP = 3 };
    const size_t ld = n + GAP;
    test_span x = test_span_normal(rows ? (rows - 1) * ld + n : 0, slack, 1, 1);
    test_span sum = test_span_normal(n, slack, 1, 2), want = test_span_normal(n, slack, 1, 2);
    if (rows > 2)
        x.data[ld + n / 2] = test_specials[n % test_n_specials];
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < n; c++)
            want.data[c] += x.data[r * ld + c];
    k->column_sum_f32(sum.data, x.data, ld, rows, n);
    test_same_floats(sum.data, want.data, n);
    test_span_free(&x);
    test_span_free(&sum);
    test_span_free(&want);
}

static void column_sum(const aoei_kernels *k) {
    for (size_t n = 1; n <= 2 * 64 + 1; n++)
        for (size_t slack = 0; slack < 3; slack++)
            column_sum_case(k, n % 5, n, slack);
}

static void test_column_sum(void **state) {
    (void)state;
    kernel_each_tier("column_sum_f32", column_sum);
}

static void sum_squares(const aoei_kernels *k) {
    for (size_t i = 0; i <= 67; i++) {
        const size_t n = i <= 65 ? i : i == 66 ? 1000 : 4097;
        test_span x = test_span_normal(n, i % 3, 1, (unsigned)i), y = test_span_create(n, (i + 1) % 3);
        long double want = 0;
        for (size_t j = 0; j < n; j++) {
            x.data[j] *= j % 7 ? 1.0f : 1e18f; /* some squares overflow in float32 */
            want += (long double)x.data[j] * (long double)x.data[j];
        }
        const double got = k->sum_squares_f32(x.data, n);
        /* the squares are exact; the bound covers n additions of positive terms */
        assert_true(fabs(got - (double)want) <=
                    kernel_tolerance("sum_squares_f32") * 0x1p-53 * (double)n * (double)want);
        memcpy(y.data, x.data, n * sizeof(float));
        assert_true(k->sum_squares_f32(y.data, n) == got); /* the sum must not depend on the alignment */
        if (n) {
            x.data[n / 2] = NAN;
            assert_true(isnan(k->sum_squares_f32(x.data, n)));
            x.data[n / 2] = -INFINITY;
            assert_true(k->sum_squares_f32(x.data, n) == (double)INFINITY);
            memset(x.data, 0, n * sizeof(float));
            x.data[n - 1] = 1e-45f; /* subnormal numbers must not be flushed to zero */
            assert_true(k->sum_squares_f32(x.data, n) == 0x1p-298);
        }
        test_span_free(&x);
        test_span_free(&y);
    }
}

static void test_sum_squares(void **state) {
    (void)state;
    kernel_each_tier("sum_squares_f32", sum_squares);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_column_sum), cmocka_unit_test(test_sum_squares)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
