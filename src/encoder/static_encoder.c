/* SPDX-License-Identifier: MIT
 * The encoder of static models. The forward pass copies rows of the word embeddings, to which
 * those of bigrams can be added. The backward pass adds the gradient of
 * each hidden state to the gradient of the row of its token.
 */
#include "encoder/static_encoder.h"

#include "encoder/slot_layout.h"
#include "encoder/token_pooling.h"
#include "nn/batch.h"
#include "nn/bigrams.h"
#include "nn/dropout.h"
#include "nn/elementwise.h"
#include "nn/embedding.h"
#include "nn/tensor.h"

static void layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena) {
    (void)ctx;
    const size_t before = arena->used;
    const aoei_tensor first = aoei_tensor_take_typed(arena, s->mode.type, s->n_tokens, c->hidden);
    s->kept_bytes = arena->used - before;
    if (s->hidden)
        s->hidden[0] = first;
    if (!s->mode.training)
        return;
    s->grad_last = aoei_tensor_take(arena, s->n_tokens, c->hidden);
    s->grad_first = aoei_tensor_take(arena, s->n_tokens, c->hidden);
}

/* Applies dropout to the embedding output or to its gradient, in place. */
static void apply_dropout(const aoe_context *ctx, aoei_tensor x, const aoei_batch *batch,
                          const aoei_encoder_dropout *drop) {
    if (!drop)
        return;
    const aoei_dropout d = {.p = drop->hidden, .key = {drop->key[0], drop->key[1]}, .site = AOEI_SITE_EMBEDDING};
    aoei_dropout_add(ctx, x, x, (aoei_tensor){0}, batch, &d);
}

static void forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_batch *batch,
                    aoei_encoder_state *s, const aoei_encoder_dropout *drop) {
    const aoei_tensor none = {0}, first = aoei_tensor_rows(s->hidden[0], 0, batch->n_tokens);
    aoei_embedding_forward(ctx, first, w[AOEI_W_WORD], none, 0, none, batch);
    if (c->bigrams)
        aoei_bigrams_forward(ctx, first, w[AOEI_W_BIGRAM], batch);
    apply_dropout(ctx, first, batch, drop);
}

static void backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                     const aoei_tensor *grads, const aoei_batch *batch, aoei_encoder_state *s,
                     const aoei_encoder_dropout *drop, int with_first) {
    const size_t n = batch->n_tokens;
    const aoei_tensor none = {0}, d = aoei_tensor_rows(s->grad_last, 0, n);
    (void)w;
    if (with_first)
        aoei_add(ctx, d, d, aoei_tensor_rows(s->grad_first, 0, n));
    apply_dropout(ctx, d, batch, drop);
    if (c->bigrams)
        aoei_bigrams_backward(ctx, d, grads[AOEI_W_BIGRAM], batch);
    aoei_embedding_backward(ctx, grads[AOEI_W_WORD], none, 0, none, d, batch);
}

static double layer_operations(const aoei_encoder_config *c, size_t tokens) {
    (void)c, (void)tokens;
    return 0;
}

const aoei_encoder_ops aoei_static_ops = {
    .layout = layout,
    .forward = forward,
    .backward = backward,
    .pool = aoei_token_pool,
    .pool_backward = aoei_token_pool_backward,
    .layer_operations = layer_operations,
};
