/* SPDX-License-Identifier: MIT
 * Tests the biases of attention scores: the bucket of every distance, the slopes of linear biases, the expansion of a
 * table, and the sum of the gradients of several texts.
 */
#include <math.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "nn/score_bias.h"

/* Distances at which a bucket of MPNet begins, from relative_position_bucket in modeling_mpnet.py of transformers. */
static void test_buckets(void **state) {
    (void)state;
    static const ptrdiff_t begins[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
    for (ptrdiff_t r = 0, bucket = 0; r < 100000; r++) {
        bucket += bucket < 15 && r == begins[bucket + 1];
        assert_int_equal(aoei_score_bucket(-r), bucket);
        if (r)
            assert_int_equal(aoei_score_bucket(r), 16 + bucket);
    }
}

/* Tests that values of texts of up to 95 tokens are written around the middle of a tensor for up to 100 tokens. */
static void test_expand(void **state) {
    (void)state;
    enum { H = 3, LONGEST = 95, COLS = 199, MIDDLE = 99 };
    aoei_tensor table = test_tensor(AOEI_SCORE_BUCKETS, H, 0, 1, 3), values = test_tensor_poisoned(H, COLS, 0);
    aoei_score_bias_expand(values, table, LONGEST);
    for (size_t h = 0; h < H; h++)
        for (ptrdiff_t r = -MIDDLE; r <= MIDDLE; r++) {
            const float x = aoei_f32(values)[h * COLS + (size_t)(MIDDLE + r)];
            if (r <= -LONGEST || r >= LONGEST)
                assert_true(isnan(x));
            else
                assert_true(x == aoei_f32(table)[aoei_score_bucket(r) * H + h]);
        }
    test_tensor_free(table);
    test_tensor_free(values);
}

static void check_slopes(const double *slopes, size_t heads) {
    enum { LONGEST = 20 };
    aoei_tensor values = test_tensor_poisoned(heads, aoei_score_bias_cols(LONGEST), 0);
    aoei_score_bias_slopes(values, LONGEST);
    for (size_t h = 0; h < heads; h++)
        for (ptrdiff_t r = 1 - LONGEST; r < LONGEST; r++)
            assert_true(fabs((double)aoei_f32(values)[h * values.cols + (size_t)(LONGEST - 1 + r)] +
                             slopes[h] * fabs((double)r)) <= 1e-7 * LONGEST);
    test_tensor_free(values);
}

static void test_slopes(void **state) {
    (void)state;
    const double one[] = {1.0 / 256}, three[] = {1.0 / 16, 1.0 / 256, 1.0 / 4},
                 four[] = {0.25, 0.0625, 1.0 / 64, 1.0 / 256};
    const double s = sqrt(0.5);
    const double twelve[] = {0.5,       0.25,      0.125, 1.0 / 16, 1.0 / 32, 1.0 / 64,
                             1.0 / 128, 1.0 / 256, s,     s / 2,    s / 4,    s / 8};
    check_slopes(one, 1);
    check_slopes(three, 3);
    check_slopes(four, 4);
    check_slopes(twelve, 12);
}

/* Tests that gradients are divided by the scale, added to the bucket of their distance, and summed over texts. */
static void test_sums(void **state) {
    (void)state;
    enum { TEXTS = 2, H = 2, T = 30 };
    const float scale = 0.5f;
    float sums[2 * T - 1];
    aoei_tensor grads = test_tensor(TEXTS * H, AOEI_SCORE_BUCKETS, 0, 0, 1),
                table = test_tensor(AOEI_SCORE_BUCKETS, H, 0, 0, 1);
    double want[AOEI_SCORE_BUCKETS][H] = {{0}};
    for (size_t row = 0; row < TEXTS * H; row++) {
        const size_t length = T - row;
        for (size_t i = 0; i < 2 * length - 1; i++) {
            sums[i] = (float)(i + 1) / (float)(row + 2);
            want[aoei_score_bucket((ptrdiff_t)i + 1 - (ptrdiff_t)length)][row % H] += (double)sums[i] / (double)scale;
        }
        aoei_score_bias_add(&(aoei_score_bias){.grads = grads}, row, sums, length, scale);
    }
    for (size_t h = 0; h < H; h++)
        for (size_t b = 0; b < AOEI_SCORE_BUCKETS; b++) {
            aoei_f32(table)[b * H + h] = 1;
            want[b][h] += 1;
        }
    aoei_score_bias_reduce(table, grads);
    for (size_t b = 0; b < AOEI_SCORE_BUCKETS; b++)
        for (size_t h = 0; h < H; h++)
            assert_true(fabs((double)aoei_f32(table)[b * H + h] - want[b][h]) <= 1e-6 * want[b][h]);
    test_tensor_free(grads);
    test_tensor_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_buckets), cmocka_unit_test(test_expand),
                                       cmocka_unit_test(test_slopes), cmocka_unit_test(test_sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
