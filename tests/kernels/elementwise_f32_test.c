/* SPDX-License-Identifier: MIT
 * Addition in every tier: exact, all lengths of two vectors and one, unaligned, aliased,
 * with special values.
 */
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { LONGEST = 2 * 16 + 1 };

static void add(const aoei_kernels *k) {
    for (size_t n = 0; n <= LONGEST; n++)
        for (size_t slack = 0; slack < 3; slack++) {
            test_span a = test_span_normal(n, slack, 1, 1), b = test_span_normal(n, slack, 1, 2);
            test_span y = test_span_create(n, slack);
            float want[LONGEST];
            for (size_t i = 0; i < n; i++) {
                if (i % 3 == 0)
                    a.data[i] = test_specials[(i + n) % test_n_specials];
                want[i] = a.data[i] + b.data[i];
            }
            k->add_f32(y.data, a.data, b.data, n);
            test_same_floats(y.data, want, n);
            memcpy(y.data, a.data, n * sizeof(float));
            k->add_f32(y.data, y.data, b.data, n);
            test_same_floats(y.data, want, n);
            k->add_f32(b.data, a.data, b.data, n);
            test_same_floats(b.data, want, n);
            test_span_free(&a);
            test_span_free(&b);
            test_span_free(&y);
        }
}

static void test_add(void **state) {
    (void)state;
    kernel_each_tier("add_f32", add);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_add)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
