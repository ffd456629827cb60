/* SPDX-License-Identifier: MIT
 * The encoder's backward pass: encoder_forward.c from its end to its beginning. One
 * gradient [N, D] flows down in grad_a. Where a norm comes after a sum, the branches
 * add to it in place; where it comes before, a branch's gradient takes the way through
 * the norm in grad_norm and is added then.
 */
#include "encoder/transformer_layer.h"
#include "encoder/ran.h"
#include "nn/adapter.h"
#include "nn/attention.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/elementwise.h"
#include "nn/embedding.h"
#include "nn/glu.h"
#include "nn/layernorm.h"
#include "nn/linear.h"
#include "nn/rmsnorm.h"
#include "nn/rope.h"

#include <assert.h>
#include <string.h>

void aoei_encoder_norm_backward(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor dx, const aoei_tensor *g,
                                aoei_tensor dy, aoei_tensor x, aoei_tensor stats, const aoei_tensor *w) {
    if (c->norm == AOEI_RMSNORM)
        aoei_rmsnorm_backward(ctx, dx, g[0], dy, x, stats, w[0]);
    else
        aoei_layernorm_backward(ctx, dx, g[0], g[1], dy, x, stats, w[0]);
}

void aoei_block_linear_backward(const aoei_block *b, size_t kind, aoei_tensor dy, aoei_tensor x, aoei_linear_grads dx) {
    dx.dw = b->g[kind];
    dx.db = b->g[kind + 1];
    dx.room = b->s->room;
    aoei_adapter adapter;
    if (aoei_block_adapter(b, kind, &adapter))
        dx.adapter = &adapter;
    aoei_linear_backward(b->ctx, &dx, dy, x, b->w[kind]);
}

/* What is wanted of a linear layer's input: dx, or dx added to. */
static aoei_linear_grads input_grad(aoei_tensor dx, int accumulate) {
    aoei_linear_grads l;
    memset(&l, 0, sizeof l);
    l.dx = dx;
    l.accumulate = accumulate;
    return l;
}

/* The gradient behind a dropout as an operand: d itself when the site is off and nothing is to be rounded, else in grad_b. */
static aoei_tensor through_dropout(const aoei_block *b, aoei_tensor d, uint32_t site) {
    const aoei_tensor room = aoei_tensor_rows(b->s->grad_b, 0, b->batch->n_tokens);
    const aoei_dropout drop = aoei_block_dropout(b, site);
    if (drop.p == 0 && room.type == d.type)
        return d;
    aoei_dropout_add(b->ctx, room, d, aoei_no_tensor(), b->batch, &drop);
    return room;
}

/* From ddown to the gradient of `mid`: into dmid, or with accumulate added to it. */
static void feed_forward_backward(const aoei_block *b, aoei_tensor ddown, aoei_tensor dmid, int accumulate) {
    const aoei_layer_state *l = &b->l;
    const aoei_activation activation = b->c->activation;
    aoei_linear_grads down = input_grad(b->act, 0);
    if (b->c->gated) {
        aoei_gate_forward(b->ctx, b->act, l->gate, l->up, activation);
        aoei_block_linear_backward(b, AOEI_LW_DOWN, ddown, b->act, down);
        aoei_gate_backward(b->ctx, l->gate, l->up, b->act, activation);
        aoei_block_linear_backward(b, AOEI_LW_GATE, l->gate, l->mid, input_grad(dmid, accumulate));
        aoei_block_linear_backward(b, AOEI_LW_UP, l->up, l->mid, input_grad(dmid, 1));
        return;
    }
    aoei_activation_forward(b->ctx, b->act, l->up, activation);
    down.activation = activation;
    down.gate = l->up;
    aoei_block_linear_backward(b, AOEI_LW_DOWN, ddown, b->act, down);
    aoei_block_linear_backward(b, AOEI_LW_UP, b->act, l->mid, input_grad(dmid, accumulate));
}

/* From dproj to the gradient of what queries, keys and values saw: into din, or with accumulate added to it. */
static void attention_backward(const aoei_block *b, aoei_tensor dproj, aoei_tensor din, int accumulate) {
    const aoei_layer_state *l = &b->l;
    const size_t n = b->batch->n_tokens, Q = aoei_query_width(b->c), K = aoei_key_width(b->c);
    const aoei_tensor dheads = aoei_tensor_rows(b->s->grad_heads, 0, n), dqkv = aoei_tensor_slice(b->s->wide, 0, n, Q + 2 * K);
    const aoei_tensor dq = aoei_tensor_cols(dqkv, 0, Q), dk = aoei_tensor_cols(dqkv, Q, K),
                      dv = aoei_tensor_cols(dqkv, Q + K, K);
    const aoei_attention a = aoei_block_attention(b);
    aoei_block_linear_backward(b, AOEI_LW_O, dproj, l->heads, input_grad(dheads, 0));
    aoei_attention_backward(b->ctx, dq, dk, dv, dheads, aoei_tensor_cols(l->qkv, 0, Q), aoei_tensor_cols(l->qkv, Q, K),
                            aoei_tensor_cols(l->qkv, Q + K, K), b->batch, &a, b->s->scratch);
    if (b->c->rope.theta > 0)
        aoei_rope_turn(b->ctx, aoei_tensor_cols(dqkv, 0, Q + K), b->s->rope, 1);
    aoei_block_linear_backward(b, AOEI_LW_Q, dq, l->in, input_grad(din, accumulate));
    aoei_block_linear_backward(b, AOEI_LW_K, dk, l->in, input_grad(din, 1));
    aoei_block_linear_backward(b, AOEI_LW_V, dv, l->in, input_grad(din, 1));
}

/* d: on entry the gradient of the layer's output, on return that of its input. */
static void post_norm_backward(const aoei_block *b, aoei_tensor d) {
    const aoei_layer_state *l = &b->l;
    const size_t norm1 = AOEI_LW_NORM1, norm2 = AOEI_LW_NORM2;
    aoei_encoder_norm_backward(b->ctx, b->c, d, b->g + norm2, d, l->sum2, l->stats2, b->w + norm2);
    feed_forward_backward(b, through_dropout(b, d, AOEI_SITE_FFN_OUTPUT), d, 1);
    aoei_encoder_norm_backward(b->ctx, b->c, d, b->g + norm1, d, l->sum1, l->stats1, b->w + norm1);
    attention_backward(b, through_dropout(b, d, AOEI_SITE_ATTENTION_OUTPUT), d, 1);
}

static void pre_norm_backward(const aoei_block *b, aoei_tensor d) {
    const aoei_layer_state *l = &b->l;
    const size_t norm1 = AOEI_LW_NORM1, norm2 = AOEI_LW_NORM2;
    const aoei_tensor branch = aoei_tensor_rows(b->s->grad_norm, 0, b->batch->n_tokens);
    feed_forward_backward(b, through_dropout(b, d, AOEI_SITE_FFN_OUTPUT), branch, 0);
    aoei_encoder_norm_backward(b->ctx, b->c, branch, b->g + norm2, branch, l->sum1, l->stats2, b->w + norm2);
    aoei_add(b->ctx, d, d, branch);
    attention_backward(b, through_dropout(b, d, AOEI_SITE_ATTENTION_OUTPUT), branch, 0);
    aoei_encoder_norm_backward(b->ctx, b->c, branch, b->g + norm1, branch, b->x, l->stats1, b->w + norm1);
    aoei_add(b->ctx, d, d, branch);
}

static void embedding_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                               const aoei_tensor *grads, const aoei_batch *batch, const aoei_encoder_state *s,
                               const aoei_encoder_dropout *drop, aoei_tensor d) {
    const size_t n = batch->n_tokens;
    if (drop) {
        const aoei_dropout e = aoei_encoder_site(drop, drop->hidden, AOEI_SITE_EMBEDDING);
        aoei_dropout_add(ctx, d, d, aoei_no_tensor(), batch, &e);
    }
    if (!c->no_embed_norm)
        aoei_encoder_norm_backward(ctx, c, d, grads + AOEI_W_EMBED_NORM, d, aoei_tensor_rows(s->embed_sum, 0, n),
                                   aoei_tensor_rows(s->embed_stats, 0, n), w + AOEI_W_EMBED_NORM);
    aoei_embedding_backward(ctx, grads[AOEI_W_WORD], grads[AOEI_W_POSITION], c->position_offset, grads[AOEI_W_TOKEN_TYPE], d,
                            batch);
}

void aoei_encoder_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_tensor *grads,
                           const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop, int with_first) {
    if (c->ran.window) {
        aoei_ran_backward(ctx, c, w, grads, batch, s, drop, with_first);
        return;
    }
    const size_t n = batch->n_tokens;
    const aoei_tensor d = aoei_tensor_rows(s->grad_a, 0, n);
    assert(s->mode.training);
    if (c->pre_norm)
        aoei_encoder_norm_backward(ctx, c, d, grads + AOEI_W_FINAL_NORM, d,
                                   aoei_tensor_rows(s->layers[c->layers - 1].out, 0, n), aoei_tensor_rows(s->final_stats, 0, n),
                                   w + AOEI_W_FINAL_NORM);
    for (size_t l = c->layers; l-- > 0;) {
        const aoei_block b = aoei_block_of(ctx, c, w, grads, batch, s, drop, l);
        if (s->mode.recompute)
            aoei_block_forward(&b);
        if (c->pre_norm)
            pre_norm_backward(&b, d);
        else
            post_norm_backward(&b, d);
    }
    if (c->lora.r) /* nothing before the layers is trained */
        return;
    if (with_first)
        aoei_add(ctx, d, d, aoei_tensor_rows(s->grad_first, 0, n));
    embedding_backward(ctx, c, w, grads, batch, s, drop, d);
}
