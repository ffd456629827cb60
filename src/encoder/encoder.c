/* SPDX-License-Identifier: MIT
 * Implements encoder.h. Each function calls the implementation of the model's encoder: transformer.c, ran.c or
 * static_encoder.c.
 */
#include "encoder/encoder.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "encoder/arch.h"
#include "encoder/token_convolution.h"
#include "encoder/token_lstm.h"
#include "encoder/token_pooling.h"
#include "nn/batch.h"
#include "nn/tensor.h"

int aoei_encoder_layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena,
                        size_t n_tokens, size_t n_texts, size_t longest, aoei_encoder_mode mode, aoe_error *err) {
    memset(s, 0, sizeof *s);
    s->n_tokens = n_tokens;
    s->n_texts = n_texts;
    s->longest = longest;
    s->mode = mode;
    s->hidden = aoei_arena_take_array(arena, c->layers + 1, sizeof *s->hidden);
    c->arch->encoder->layout(s, ctx, c, arena);
    aoei_token_convolution_layout(s, ctx, c, arena);
    aoei_token_lstm_layout(s, ctx, c, arena);
    if (arena->overflow)
        return aoei_fail(err, AOE_ENOMEM,
                         "out of memory: cannot allocate the activations of %zu tokens; reduce options.batch_tokens, "
                         "options.batch_size or options.cache_chunk",
                         n_tokens);
    return AOE_OK;
}

aoei_tensor aoei_encoder_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                                 const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop) {
    assert(batch->n_tokens <= s->n_tokens && batch->n_texts <= s->n_texts && batch->longest <= s->longest);
    c->arch->encoder->forward(ctx, c, w, batch, s, drop);
    if (aoei_has_token_module(c)) {
        aoei_token_convolution_forward(ctx, c, w, batch, s);
        aoei_token_lstm_forward(ctx, c, w, batch, s, drop);
        return aoei_tensor_rows(s->tokens, 0, batch->n_tokens);
    }
    return aoei_pools_mean_state(c) ? aoei_tensor_rows(s->mean, 0, batch->n_tokens)
                                    : aoei_encoder_hidden(s, c, c->layers, batch->n_tokens);
}

aoei_tensor aoei_encoder_hidden(const aoei_encoder_state *s, const aoei_encoder_config *c, size_t layer,
                                size_t n_tokens) {
    assert(layer == 0 || s->mode.training || layer == c->layers);
    (void)c;
    return aoei_tensor_rows(s->hidden[layer], 0, n_tokens);
}

void aoei_encoder_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                           const aoei_tensor *grads, const aoei_batch *batch, aoei_encoder_state *s,
                           const aoei_encoder_dropout *drop, int with_first) {
    assert(s->mode.training);
    aoei_token_convolution_backward(ctx, c, w, grads, batch, s);
    aoei_token_lstm_backward(ctx, c, w, grads, batch, s, drop);
    c->arch->encoder->backward(ctx, c, w, grads, batch, s, drop, with_first);
}

int aoei_encoder_has_taps(const aoei_encoder_config *c, aoe_pooling pooling) {
    return c->arch->encoder->taps && !aoei_pools_mean_state(c) && !aoei_has_token_module(c) &&
           pooling != AOE_POOLING_FIRST_LAST_AVG;
}

void aoei_encoder_pool(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor out, aoe_pooling pooling,
                       aoei_tensor last, const aoei_batch *batch, const aoei_encoder_state *s) {
    c->arch->encoder->pool(ctx, c, out, pooling, last, batch, s);
}

int aoei_encoder_pool_backward(const aoe_context *ctx, const aoei_encoder_config *c, aoe_pooling pooling,
                               aoei_tensor dout, aoei_tensor last, const aoei_batch *batch, aoei_encoder_state *s) {
    if (aoei_has_token_module(c)) {
        aoei_token_pool_gradient(ctx, c, aoei_tensor_rows(s->grad_tokens, 0, batch->n_tokens), pooling, dout, last,
                                 batch);
        return 0;
    }
    return c->arch->encoder->pool_backward(ctx, c, pooling, dout, last, batch, s);
}

aoei_tensor aoei_encoder_grad_tokens(const aoei_encoder_state *s, const aoei_encoder_config *c, size_t n_tokens) {
    return aoei_tensor_rows(aoei_has_token_module(c) ? s->grad_tokens : s->grad_last, 0, n_tokens);
}

aoei_tensor aoei_encoder_grad_last(const aoei_encoder_state *s, size_t n_tokens) {
    return aoei_tensor_rows(s->grad_last, 0, n_tokens);
}

aoei_tensor aoei_encoder_grad_first(const aoei_encoder_state *s, size_t n_tokens) {
    return aoei_tensor_rows(s->grad_first, 0, n_tokens);
}
