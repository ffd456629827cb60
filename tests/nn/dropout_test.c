/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests dropout of hidden states. A mask must depend only on the key of the optimizer step, the site (the number of the
 * place in the model where dropout is applied), the text, the token and the column. It must not depend on the number of
 * threads, the batch, the instruction set or the data type. If the dropout probability p is 0, the operation only adds
 * the residual or, if there is no residual, copies its input.
 */
#include <math.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "base/random.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/elementwise.h"

enum { D = 300 };

static const size_t lengths[] = {3, 1, 60, 17, 2};

/* Computes the mask by its definition: returns 1 if dropout keeps the element in this column of the token's hidden
 * state. */
static int kept(const aoei_dropout *drop, uint32_t text, size_t token, size_t column) {
    const uint32_t counter[4] = {(uint32_t)(column / 64 * 16 + column % 16), (uint32_t)token, text, drop->site << 16};
    uint32_t word[4];
    aoei_philox(word, counter, drop->key);
    return word[column % 64 / 16] >= (uint32_t)(drop->p * 4294967296.0);
}

/* Computes y [N, D] by the definition of dropout. The mask of a text is computed from b->text_index[text]. If
 * b->text_index is NULL, it is computed from the index of the text in the batch. */
static void reference(aoei_tensor y, aoei_tensor x, aoei_tensor residual, const aoei_batch *b,
                      const aoei_dropout *drop) {
    const float scale = (float)(1 / (1 - drop->p));
    for (size_t text = 0; text < b->n_texts; text++)
        for (size_t r = b->offsets[text]; r < b->offsets[text + 1]; r++)
            for (size_t c = 0; c < D; c++) {
                const uint32_t index = b->text_index ? b->text_index[text] : (uint32_t)text;
                const float v = kept(drop, index, r - b->offsets[text], c) ? aoei_f32(x)[r * x.ld + c] * scale : 0;
                aoei_f32(y)[r * y.ld + c] = residual.data ? aoei_f32(residual)[r * residual.ld + c] + v : v;
            }
}

static void test_masks(void **state) {
    (void)state;
    aoei_batch b = test_batch(lengths, 5, 10);
    const aoei_tensor none = {0};
    aoei_tensor x = test_tensor(b.n_tokens, D, D + 4, 1, 1), residual = test_tensor(b.n_tokens, D, D + 1, 1, 2);
    aoei_tensor want = test_tensor_poisoned(b.n_tokens, D, 0), y = test_tensor_poisoned(b.n_tokens, D, D + 2);
    aoei_dropout drop = {.p = 0.1, .site = 7};
    aoei_dropout_key(drop.key, 42, 3);
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++)
        for (size_t threads = 1; threads <= 3; threads++) {
            aoe_context *ctx = test_context((aoei_tier)tier, threads);
            for (int flags = 0; ctx && flags < 4; flags++) {
                aoei_batch batch = b;
                if (flags & 1)
                    batch.text_index = NULL;
                const aoei_tensor r = flags & 2 ? residual : none;
                reference(want, x, r, &batch, &drop);
                aoei_dropout_add(ctx, y, x, r, &batch, &drop);
                test_same_bits(y, want);
            }
            aoe_context_destroy(ctx);
        }
    test_tensor_free(x);
    test_tensor_free(residual);
    test_tensor_free(want);
    test_tensor_free(y);
    test_batch_free(b, 0);
}

/* Checks dropout with output in bf16. The masks must equal the masks in float32, and the result must be the float32
 * result, rounded once. x_type: data type of the input; float32 is possible only if summed is 0. summed: 1 if a
 * residual is added. */
static void check_bf16(const aoe_context *ctx, aoei_dtype x_type, int summed) {
    aoei_batch b = test_batch(lengths, 5, 10);
    const size_t n = b.n_tokens;
    const aoei_tensor none = {0};
    aoei_tensor x = test_tensor_typed(x_type, n, D, D + 4, 1, 1), wide = test_tensor_poisoned(n, D, 0);
    aoei_tensor residual = test_tensor_typed(AOEI_BF16, n, D, D + 1, 1, 2),
                wide_residual = test_tensor_poisoned(n, D, 0);
    aoei_tensor sum = test_tensor_poisoned(n, D, 0), want = test_poisoned_typed(AOEI_BF16, n, D, 0);
    aoei_tensor y = test_poisoned_typed(AOEI_BF16, n, D, D + 2);
    aoei_dropout drop = {.p = 0.1, .site = 7};
    aoei_dropout_key(drop.key, 42, 3);
    aoei_tensor_copy(ctx, wide, x);
    aoei_tensor_copy(ctx, wide_residual, residual);
    reference(sum, wide, summed ? wide_residual : none, &b, &drop);
    aoei_tensor_copy(ctx, want, sum);
    aoei_dropout_add(ctx, y, x, summed ? residual : none, &b, &drop);
    test_same_bits(y, want);
    if (x_type == AOEI_BF16) { /* in place: the output overwrites the input */
        if (summed) {
            aoei_dropout_add(ctx, residual, x, residual, &b, &drop);
            test_same_bits(residual, want);
            aoei_tensor_copy(ctx, residual, wide_residual);
        }
        aoei_dropout_add(ctx, x, x, summed ? residual : none, &b, &drop);
        test_same_bits(x, want);
    }
    const aoei_dropout no_dropout = {.p = 0};
    if (!summed) { /* if p = 0 and there is no residual, the operation copies x and rounds it to bf16 */
        aoei_tensor_copy(ctx, x, wide);
        aoei_tensor_copy(ctx, want, wide);
        aoei_dropout_add(ctx, y, x, none, &b, &no_dropout);
        test_same_bits(y, want);
    }
    const aoei_tensor all[] = {x, wide, residual, wide_residual, sum, want, y};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        test_tensor_free(all[i]);
    test_batch_free(b, 0);
}

static void test_bf16(void **state) {
    (void)state;
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++)
        for (size_t threads = 1; threads <= 3; threads++) {
            aoe_context *ctx = test_context((aoei_tier)tier, threads);
            check_bf16(ctx, AOEI_BF16, 0);
            check_bf16(ctx, AOEI_BF16, 1);
            check_bf16(ctx, AOEI_F32, 0);
            aoe_context_destroy(ctx);
        }
}

/* Asserts that the mask of a text does not depend on whether the text is alone in its batch. */
static void single_text(const aoe_context *ctx) {
    aoei_batch b = test_batch(lengths, 5, 10);
    const aoei_dropout drop = {.p = 0.5, .key = {1, 2}, .site = 3};
    aoei_tensor x = test_tensor(b.n_tokens, D, 0, 1, 1), none = {0};
    aoei_tensor batched = test_tensor_poisoned(b.n_tokens, D, 0), separate = test_tensor_poisoned(b.n_tokens, D, 0);
    aoei_dropout_add(ctx, batched, x, none, &b, &drop);
    for (size_t text = 0; text < b.n_texts; text++) {
        aoei_batch single = test_batch_text(&b, text);
        aoei_dropout_add(ctx, aoei_tensor_rows(separate, b.offsets[text], single.n_tokens),
                         aoei_tensor_rows(x, b.offsets[text], single.n_tokens), none, &single, &drop);
        test_batch_free(single, 1);
    }
    test_same_bits(batched, separate);
    test_tensor_free(x);
    test_tensor_free(batched);
    test_tensor_free(separate);
    test_batch_free(b, 0);
}

static void test_single_text(void **state) {
    (void)state;
    test_each_tier(single_text);
}

static void without_dropout(const aoe_context *ctx) {
    aoei_batch b = test_batch(lengths, 5, 10);
    const aoei_dropout drop = {.p = 0};
    const size_t N = b.n_tokens;
    aoei_tensor x = test_tensor(N, D, D + 1, 1, 1), residual = test_tensor(N, D, 0, 1, 2), none = {0};
    aoei_tensor y = test_tensor_poisoned(N, D, 0), sum = test_tensor_poisoned(N, D, 0);
    for (size_t r = 0; r < N; r++)
        for (size_t c = 0; c < D; c++)
            aoei_f32(sum)[r * D + c] = aoei_f32(x)[r * x.ld + c] + aoei_f32(residual)[r * D + c];
    aoei_dropout_add(ctx, y, x, residual, &b, &drop);
    test_same_bits(y, sum);
    aoei_dropout_add(ctx, y, x, none, &b, &drop);
    test_same_bits(y, x);
    aoei_dropout_add(ctx, x, x, none, &b, &drop);
    test_same_bits(y, x);
    aoei_dropout_add(ctx, residual, x, residual, &b, &drop);
    test_same_bits(residual, sum);
    aoei_add(ctx, sum, sum, y);
    for (size_t i = 0; i < N * D; i++)
        assert_true(aoei_f32(sum)[i] == aoei_f32(residual)[i] + aoei_f32(y)[i]);
    aoei_scale(ctx, y, 0.1);
    for (size_t i = 0; i < N * D; i++)
        assert_true(aoei_f32(y)[i] == aoei_f32(x)[i / D * x.ld + i % D] * 0.1f);
    test_tensor_free(x);
    test_tensor_free(residual);
    test_tensor_free(y);
    test_tensor_free(sum);
    test_batch_free(b, 0);
}

static void test_without_dropout(void **state) {
    (void)state;
    test_each_tier(without_dropout);
}

/* Tests that dropout preserves the mean, because it scales the kept elements by 1 / (1 - p). */
static void test_statistics(void **state) {
    (void)state;
    const size_t length[] = {400};
    aoei_batch b = test_batch(length, 1, 10);
    aoe_context *ctx = test_context(test_best_tier(), 1);
    aoei_tensor x = test_tensor_poisoned(400, D, 0), y = test_tensor_poisoned(400, D, 0), none = {0};
    for (size_t i = 0; i < 400 * D; i++)
        aoei_f32(x)[i] = 1;
    const aoei_dropout drop = {.p = 0.1, .key = {3, 4}, .site = 1};
    aoei_dropout_add(ctx, y, x, none, &b, &drop);
    double sum = 0;
    for (size_t i = 0; i < 400 * D; i++)
        sum += (double)aoei_f32(y)[i];
    /* with 120,000 draws, the mean has a standard deviation of 0.00096; the tolerance is five standard deviations */
    assert_true(fabs(sum / (400 * D) - 1) < 0.005);
    test_tensor_free(x);
    test_tensor_free(y);
    test_batch_free(b, 0);
    aoe_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masks),           cmocka_unit_test(test_bf16),       cmocka_unit_test(test_single_text),
        cmocka_unit_test(test_without_dropout), cmocka_unit_test(test_statistics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
