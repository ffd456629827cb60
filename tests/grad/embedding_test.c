/* SPDX-License-Identifier: MIT
 * covers: nn/embedding
 * Tests sums of embeddings and their gradients. The results must be bit-identical to sums that the test computes in the
 * order of the library. A gradient is summed token by token, starting from the stored value. A bf16 sum must be the
 * float32 sum, rounded once.
 * tags: threads
 */
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"

#include "nn/batch.h"
#include "nn/embedding.h"

enum { VOCAB = 9, OFFSET = 2, LONGEST = 40 };

static const size_t lengths[] = {1, 40, 7, 23};

/* Returns the token type of token i: 0, 1, or 2, which the table with two rows does not have. */
static uint8_t type_of(size_t i) {
    return (uint8_t)(i * 7 % 3);
}

/* Returns the token types of n tokens. The caller frees them. */
static uint8_t *types_create(size_t n) {
    uint8_t *types = malloc(n);
    assert_non_null(types);
    for (size_t i = 0; i < n; i++)
        types[i] = type_of(i);
    return types;
}

typedef struct tables {
    aoei_tensor word, position, token_type;
} tables;

static tables tables_create(size_t D, uint32_t substream) {
    return (tables){test_tensor(VOCAB, D, 0, 1, substream), test_tensor(LONGEST + OFFSET, D, 0, 1, substream + 1),
                    test_tensor(2, D, 0, 1, substream + 2)};
}

static void tables_free(tables t) {
    test_tensor_free(t.word);
    test_tensor_free(t.position);
    test_tensor_free(t.token_type);
}

/* whole: 0: only word embeddings; 1: all tables, with token type 0; 2: all tables, with the types of type_of */
static void forward(const aoe_context *ctx, aoei_dtype type, size_t D, int whole) {
    aoei_batch b = test_batch(lengths, 4, VOCAB);
    uint8_t *types = types_create(b.n_tokens);
    b.types = whole == 2 ? types : NULL;
    tables t = tables_create(D, 1);
    const aoei_tensor none = {0};
    aoei_tensor y = test_poisoned_typed(type, b.n_tokens, D, D + 2), want = test_poisoned_typed(type, b.n_tokens, D, 0);
    for (size_t i = 0; i < b.n_tokens; i++)
        for (size_t c = 0; c < D; c++) {
            float v = aoei_f32(t.word)[(size_t)b.ids[i] * D + c];
            if (whole) {
                v += aoei_f32(t.position)[(b.positions[i] + OFFSET) * D + c];
                v += aoei_f32(t.token_type)[(b.types && type_of(i) == 1 ? D : 0) + c];
            }
            if (type == AOEI_BF16)
                aoei_b16(want)[i * D + c] = aoei_bf16_from_f32(v);
            else
                aoei_f32(want)[i * D + c] = v;
        }
    aoei_embedding_forward(ctx, y, t.word, whole ? t.position : none, OFFSET, whole ? t.token_type : none, &b);
    test_same_bits(y, want);
    free(types);
    test_tensor_free(y);
    test_tensor_free(want);
    tables_free(t);
    test_batch_free(b, 0);
}

static void backward(const aoe_context *ctx, size_t D, int whole) {
    aoei_batch b = test_batch(lengths, 4, VOCAB);
    uint8_t *types = types_create(b.n_tokens);
    b.types = whole == 2 ? types : NULL;
    tables got = tables_create(D, 1), want = tables_create(D, 1);
    const aoei_tensor none = {0};
    aoei_tensor dy = test_tensor(b.n_tokens, D, D + 7, 1, 9);
    for (size_t i = 0; i < b.n_tokens; i++)
        for (size_t c = 0; c < D; c++) {
            const float g = aoei_f32(dy)[i * dy.ld + c];
            aoei_f32(want.word)[(size_t)b.ids[i] * D + c] += g;
            if (whole) {
                aoei_f32(want.position)[(b.positions[i] + OFFSET) * D + c] += g;
                aoei_f32(want.token_type)[(b.types && type_of(i) == 1 ? D : 0) + c] += g;
            }
        }
    aoei_embedding_backward(ctx, got.word, whole ? got.position : none, OFFSET, whole ? got.token_type : none, dy, &b);
    test_same_bits(got.word, want.word);
    test_same_bits(got.position, want.position);
    test_same_bits(got.token_type, want.token_type);
    free(types);
    test_tensor_free(dy);
    tables_free(got);
    tables_free(want);
    test_batch_free(b, 0);
}

static void test_exact(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 13, 64, 200};
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++)
        for (size_t threads = 1; threads <= 3; threads++) {
            aoe_context *ctx = test_context((aoei_tier)tier, threads);
            for (size_t k = 0; k < 4; k++)
                for (int whole = 0; whole <= 2; whole++) {
                    forward(ctx, AOEI_F32, sizes[k], whole);
                    forward(ctx, AOEI_BF16, sizes[k], whole);
                    backward(ctx, sizes[k], whole);
                }
            aoe_context_destroy(ctx);
        }
}

/* Operands of the comparison with finite differences. The sum of embeddings is linear in the embedding tables, so
 * finite differences are accurate and detect every wrong index. */
typedef struct problem {
    const aoei_batch *batch;
    const double *weight; /* [N, D] weights of the loss */
    size_t D;
} problem;

static double loss(void *arg, const double *in) {
    const problem *p = arg;
    const double *position = in + VOCAB * p->D, *type = position + (LONGEST + OFFSET) * p->D;
    double sum = 0;
    for (size_t i = 0; i < p->batch->n_tokens; i++)
        for (size_t c = 0; c < p->D; c++)
            sum += p->weight[i * p->D + c] * (in[(size_t)p->batch->ids[i] * p->D + c] +
                                              position[(p->batch->positions[i] + OFFSET) * p->D + c] + type[c]);
    return sum;
}

static void gradients(const aoe_context *ctx) {
    enum { D = 6, ROWS = VOCAB + LONGEST + OFFSET + 2 };
    aoei_batch b = test_batch(lengths, 4, VOCAB);
    aoei_tensor dy = test_tensor(b.n_tokens, D, 0, 1, 9), grad = test_tensor_poisoned(ROWS, D, 0);
    double *weight = malloc(b.n_tokens * D * sizeof *weight), in[ROWS * D] = {0}, g[ROWS * D];
    test_to_double(weight, dy);
    aoei_tensor_zero(ctx, grad);
    aoei_embedding_backward(ctx, aoei_tensor_rows(grad, 0, VOCAB), aoei_tensor_rows(grad, VOCAB, LONGEST + OFFSET),
                            OFFSET, aoei_tensor_rows(grad, VOCAB + LONGEST + OFFSET, 2), dy, &b);
    test_to_double(g, grad);
    problem p = {&b, weight, D};
    test_gradient(loss, &p, in, g, ROWS * D, TEST_GRAD_TOLERANCE);
    free(weight);
    test_tensor_free(dy);
    test_tensor_free(grad);
    test_batch_free(b, 0);
}

static void test_gradients(void **state) {
    (void)state;
    test_each_tier(gradients);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exact), cmocka_unit_test(test_gradients)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
