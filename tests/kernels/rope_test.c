/* SPDX-License-Identifier: MIT
 * Tests rotary position embeddings (RoPE) on every instruction set, in float32 and bf16. Results must be bit-identical
 * to the formula in which every operation is rounded separately. The tests cover all head sizes, both directions of the
 * rotation, and unaligned operands. The kernels must not write outside the heads.
 */
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { MOST_HALF = 2 * 16 + 1, HEADS = 3 };

/* Computes the expected values of x after the rotation. */
static void expected(float *want, const float *x, const float *angles, float direction, size_t heads, size_t half) {
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < half; i++) {
            const float a = x[h * 2 * half + i], b = x[h * 2 * half + half + i];
            const float s = direction * angles[half + i], ac = a * angles[i], bs = b * s, bc = b * angles[i],
                        as = a * s;
            want[h * 2 * half + i] = ac - bs;
            want[h * 2 * half + half + i] = bc + as;
        }
}

static void float32(const aoei_kernels *k) {
    for (size_t half = 1; half <= MOST_HALF; half++)
        for (size_t heads = 1; heads <= HEADS; heads++) {
            float want[2 * MOST_HALF * HEADS];
            test_span x = test_span_normal(2 * half * heads, heads, 1, 1),
                      angles = test_span_normal(2 * half, half % 3, 1, 2);
            const float direction = heads == 2 ? -1.0f : 1.0f;
            expected(want, x.data, angles.data, direction, heads, half);
            k->rope_f32(x.data, angles.data, direction, heads, half);
            test_same_floats(x.data, want, 2 * half * heads);
            for (size_t i = 0; i < 2 * half * heads; i++)
                kernel_compared(0, 0);
            test_span_free(&x);
            test_span_free(&angles);
        }
}

static void bf16(const aoei_kernels *k) {
    for (size_t half = 1; half <= MOST_HALF; half++)
        for (size_t heads = 1; heads <= HEADS; heads++) {
            const size_t n = 2 * half * heads;
            float want[2 * MOST_HALF * HEADS], converted[2 * MOST_HALF * HEADS];
            aoei_bf16 x[2 * MOST_HALF * HEADS + 2];
            test_span angles = test_span_normal(2 * half, half % 3, 1, 2), values = test_span_normal(n, 0, 1, 1);
            const float direction = heads == 2 ? -1.0f : 1.0f;
            x[0] = x[n + 1] = 0x1234; /* canaries before and after the heads, which start at the unaligned address x +
                                         1 */
            for (size_t i = 0; i < n; i++) {
                x[i + 1] = aoei_bf16_from_f32(values.data[i]);
                converted[i] = aoei_bf16_to_f32(x[i + 1]);
            }
            expected(want, converted, angles.data, direction, heads, half);
            k->rope_bf16(x + 1, angles.data, direction, heads, half);
            assert_true(x[0] == 0x1234 && x[n + 1] == 0x1234);
            for (size_t i = 0; i < n; i++) {
                assert_int_equal(x[i + 1], aoei_bf16_from_f32(want[i]));
                kernel_compared(0, 0);
            }
            test_span_free(&angles);
            test_span_free(&values);
        }
}

static void test_rope(void **state) {
    (void)state;
    kernel_each_tier("rope_f32", float32);
    kernel_each_tier("rope_bf16", bf16);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rope)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
