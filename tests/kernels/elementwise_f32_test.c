/* SPDX-License-Identifier: MIT
 * Tests element-wise addition, multiplication and ReLU on every instruction set. Each result must be the exact result,
 * rounded once. The tests cover all lengths from 0 to twice the length of the longest SIMD vector plus 1, unaligned
 * operands, outputs in the memory of an input, and special values.
 */
#include <math.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { LONGEST = 2 * 16 + 1 };

/* Tests the operation `op`. If `product` is 1, it is multiplication, otherwise addition. */
static void check(aoei_add_f32_fn *op, int product) {
    for (size_t n = 0; n <= LONGEST; n++)
        for (size_t slack = 0; slack < 3; slack++) {
            test_span a = test_span_normal(n, slack, 1, 1), b = test_span_normal(n, slack, 1, 2);
            test_span y = test_span_create(n, slack);
            float want[LONGEST];
            for (size_t i = 0; i < n; i++) {
                if (i % 3 == 0)
                    a.data[i] = test_specials[(i + n) % test_n_specials];
                want[i] = product ? a.data[i] * b.data[i] : a.data[i] + b.data[i];
            }
            op(y.data, a.data, b.data, n);
            test_same_floats(y.data, want, n);
            memcpy(y.data, a.data, n * sizeof(float));
            op(y.data, y.data, b.data, n);
            test_same_floats(y.data, want, n);
            op(b.data, a.data, b.data, n);
            test_same_floats(b.data, want, n);
            test_span_free(&a);
            test_span_free(&b);
            test_span_free(&y);
        }
}

static void add(const aoei_kernels *k) {
    check(k->add_f32, 0);
}

static void multiply(const aoei_kernels *k) {
    check(k->mul_f32, 1);
}

static void relu(const aoei_kernels *k) {
    for (size_t n = 0; n <= LONGEST; n++)
        for (size_t slack = 0; slack < 3; slack++) {
            test_span x = test_span_normal(n, slack, 1, 1), dy = test_span_normal(n, slack, 1, 2);
            test_span y = test_span_create(n, slack), dx = test_span_create(n, slack);
            float want[LONGEST], gradient[LONGEST];
            for (size_t i = 0; i < n; i++) {
                if (i % 3 == 0)
                    x.data[i] = test_specials[(i + n) % test_n_specials];
                want[i] = isnan(x.data[i]) || x.data[i] > 0 ? x.data[i] : 0;
                gradient[i] = isnan(x.data[i]) ? x.data[i] : x.data[i] > 0 ? dy.data[i] : 0;
            }
            k->relu_f32(y.data, x.data, n);
            k->relu_grad_f32(dx.data, dy.data, x.data, n);
            for (size_t i = 0; i < n; i++) {
                assert_true(y.data[i] == want[i] || (isnan(y.data[i]) && isnan(want[i])));
                assert_true(dx.data[i] == gradient[i] || (isnan(dx.data[i]) && isnan(gradient[i])));
            }
            k->relu_grad_f32(dy.data, dy.data, x.data, n);
            test_same_floats(dy.data, dx.data, n);
            k->relu_f32(x.data, x.data, n);
            test_same_floats(x.data, y.data, n);
            test_span *all[] = {&x, &dy, &y, &dx};
            for (size_t i = 0; i < 4; i++)
                test_span_free(all[i]);
        }
}

static void test_relu(void **state) {
    (void)state;
    kernel_each_tier("relu_f32", relu);
    kernel_each_tier("relu_grad_f32", relu);
}

static void test_add(void **state) {
    (void)state;
    kernel_each_tier("add_f32", add);
}

static void test_multiply(void **state) {
    (void)state;
    kernel_each_tier("mul_f32", multiply);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_add), cmocka_unit_test(test_multiply),
                                       cmocka_unit_test(test_relu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
