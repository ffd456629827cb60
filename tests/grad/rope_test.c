/* SPDX-License-Identifier: MIT
 * covers: nn/rope
 * Tests rotary position embeddings (RoPE). The angles of every scaling are compared with the formulas in double.
 * Rotated columns in float32 and bf16 are compared with the expected values, and the inverse rotation must restore the
 * input. The bits of the results for a text must depend neither on the number of threads nor on the other texts of the
 * batch.
 * tags: threads
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"

#include "nn/batch.h"
#include "nn/rope.h"

enum { TEXTS = 4, D = 12, HEADS = 3, LEFT = 5 /* columns to the left of the heads */ };

static const size_t lengths[TEXTS] = {1, 40, 7, 70};

static const aoei_rope plain = {.theta = 100};
static const aoei_rope linear = {.theta = 100, .scaling = AOEI_ROPE_LINEAR, .factor = 3, .positions = 16};
static const aoei_rope dynamic = {.theta = 100, .scaling = AOEI_ROPE_DYNAMIC, .factor = 3, .positions = 16};
static const aoei_rope llama3 = {
    .theta = 100, .scaling = AOEI_ROPE_LLAMA3, .factor = 3, .low = 1, .high = 4, .positions = 16};

static const aoei_rope longrope = {.theta = 100,
                                   .scaling = AOEI_ROPE_LONG,
                                   .positions = 16,
                                   .magnitude = 1.25,
                                   .n_factors = D / 2,
                                   .short_factor = {1, 1.5f, 2, 1.25f, 1, 3},
                                   .long_factor = {2, 4, 8, 2.5f, 16, 5}};

/* Returns the angle in radians by which the rotation of component pair i increases from one token to the next, in a
 * text of T tokens. */
static double frequency(const aoei_rope *r, size_t i, size_t T) {
    const double f = pow(r->theta, -2.0 * (double)i / D), old = (double)r->positions, wavelength = 2 * acos(-1) / f;
    if (r->scaling == AOEI_ROPE_LINEAR)
        return f / r->factor;
    if (r->scaling == AOEI_ROPE_DYNAMIC && (double)T > old)
        return pow(r->theta * pow(r->factor * (double)T / old - r->factor + 1, D / (D - 2.0)), -2.0 * (double)i / D);
    if (r->scaling == AOEI_ROPE_LONG)
        return f / (double)(T > 16 ? r->long_factor[i] : r->short_factor[i]);
    if (r->scaling != AOEI_ROPE_LLAMA3 || wavelength < old / r->high)
        return f;
    if (wavelength > old / r->low)
        return f / r->factor;
    const double smooth = (old / wavelength - r->low) / (r->high - r->low);
    return (1 - smooth) * f / r->factor + smooth * f;
}

static void check_scaling(const aoe_context *ctx, const aoei_rope *r) {
    const double size = r->magnitude > 0 ? r->magnitude : 1;
    aoei_batch b = test_batch(lengths, TEXTS, 10);
    aoei_tensor table = test_tensor_poisoned(b.n_tokens, D, 0);
    aoei_rope_table(ctx, table, r, &b);
    for (size_t text = 0; text < TEXTS; text++)
        for (size_t t = 0; t < lengths[text]; t++)
            for (size_t i = 0; i < D / 2; i++) {
                const double angle = (double)t * frequency(r, i, lengths[text]);
                const double c = (double)test_at(table, b.offsets[text] + t, i);
                const double s = (double)test_at(table, b.offsets[text] + t, D / 2 + i);
                assert_true(fabs(c - size * cos(angle)) <= 6e-8 * size && fabs(s - size * sin(angle)) <= 6e-8 * size);
            }
    test_tensor_free(table);
    test_batch_free(b, 0);
}

static void test_scalings(void **state) {
    (void)state;
    aoe_context *ctx = test_context(test_best_tier(), 2);
    check_scaling(ctx, &plain);
    check_scaling(ctx, &linear);
    check_scaling(ctx, &dynamic);
    check_scaling(ctx, &llama3);
    check_scaling(ctx, &longrope);
    aoe_context_destroy(ctx);
}

/* Tests the rotation of heads that are columns in the middle of a matrix. The columns of the heads must be rotated, and
 * all other columns must stay unchanged. The inverse rotation must restore the input. */
static void check_rotation(const aoe_context *ctx, aoei_dtype type) {
    aoei_batch b = test_batch(lengths, TEXTS, 10);
    const size_t N = b.n_tokens, cols = LEFT + HEADS * D + 2;
    const double bound = type == AOEI_BF16 ? TEST_BF16_ROUNDOFF : 3e-7;
    aoei_tensor table = test_tensor_poisoned(N, D, 0), all = test_tensor_typed(type, N, cols, 0, 1, 1),
                before = test_tensor_typed(type, N, cols, 0, 1, 1);
    const aoei_tensor x = aoei_tensor_cols(all, LEFT, HEADS * D);
    double *want = malloc(N * cols * sizeof *want);
    assert_non_null(want);
    test_to_double(want, before);
    aoei_rope_table(ctx, table, &plain, &b);
    for (size_t n = 0; n < N; n++)
        for (size_t h = 0; h < HEADS; h++)
            for (size_t i = 0; i < D / 2; i++) {
                double *a = want + n * cols + LEFT + h * D + i, *z = a + D / 2;
                const double angle = (double)b.positions[n] * frequency(&plain, i, 1), from = *a;
                *a = from * cos(angle) - *z * sin(angle);
                *z = *z * cos(angle) + from * sin(angle);
            }
    aoei_rope_apply(ctx, x, table, D, 0);
    test_close(all, want, bound);
    aoei_rope_apply(ctx, x, table, D, 1);
    test_to_double(want, before);
    test_close(all, want, 2 * bound);
    for (size_t n = 0; n < N; n++)
        for (size_t c = 0; c < cols; c++)
            assert_true((c >= LEFT && c < cols - 2) || test_at(all, n, c) == test_at(before, n, c));
    free(want);
    test_tensor_free(table);
    test_tensor_free(all);
    test_tensor_free(before);
    test_batch_free(b, 0);
}

static void rotations(const aoe_context *ctx) {
    check_rotation(ctx, AOEI_F32);
    check_rotation(ctx, AOEI_BF16);
}

static void test_rotations(void **state) {
    (void)state;
    test_each_tier(rotations);
}

static void test_bits(void **state) {
    (void)state;
    aoei_batch b = test_batch(lengths, TEXTS, 10);
    aoei_tensor table[3], x[3];
    for (size_t threads = 1; threads <= 3; threads++) {
        aoe_context *ctx = test_context(test_best_tier(), threads);
        const size_t k = threads - 1;
        table[k] = test_tensor_poisoned(b.n_tokens, D, 0);
        x[k] = test_tensor(b.n_tokens, HEADS * D, 0, 1, 1);
        aoei_rope_table(ctx, table[k], &dynamic, &b);
        aoei_rope_apply(ctx, x[k], table[k], D, 0);
        test_same_bits(table[0], table[k]);
        test_same_bits(x[0], x[k]);
        for (size_t text = 0; text < TEXTS; text++) {
            const aoei_batch one = test_batch_text(&b, text);
            aoei_tensor alone = test_tensor_poisoned(one.n_tokens, D, 0);
            aoei_rope_table(ctx, alone, &dynamic, &one);
            test_same_bits(alone, aoei_tensor_rows(table[0], b.offsets[text], one.n_tokens));
            test_tensor_free(alone);
            test_batch_free(one, 1);
        }
        aoe_context_destroy(ctx);
    }
    for (size_t k = 0; k < 3; k++) {
        test_tensor_free(table[k]);
        test_tensor_free(x[k]);
    }
    test_batch_free(b, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scalings), cmocka_unit_test(test_rotations),
                                       cmocka_unit_test(test_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
