/* SPDX-License-Identifier: MIT
 * The backward pass of one transformer layer. It processes the operations of transformer_layer.c in reverse order. A
 * layer has two branches, attention and feed-forward. d is the gradient of the output of the layer; it is replaced step
 * by step by the gradient of the input. In post-norm layers, the gradient of the input of a branch is added to d in
 * place. In pre-norm layers, the gradient of the input of a branch is computed in the buffer grad_norm; the backward
 * pass of the norm that precedes the branch follows, and its result is added to d.
 */
#include "encoder/transformer_layer_backward.h"

#include <string.h>

#include "nn/adapter.h"
#include "nn/attention.h"
#include "nn/dropout.h"
#include "nn/elementwise.h"
#include "nn/glu.h"
#include "nn/layernorm.h"
#include "nn/linear.h"
#include "nn/rmsnorm.h"
#include "nn/rope.h"
#include "nn/tensor.h"

void aoei_transformer_norm_backward(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor dx,
                                    const aoei_tensor *g, aoei_tensor dy, aoei_tensor x, aoei_tensor stats,
                                    const aoei_tensor *w) {
    if (c->norm == AOEI_RMSNORM)
        aoei_rmsnorm_backward(ctx, dx, g[0], dy, x, stats, w[0], c->norm_plus_one);
    else
        aoei_layernorm_backward(ctx, dx, g[0], g[1], dy, x, stats, w[0]);
}

/* Computes the gradients of linear layer `kind` and of its adapter from dy, the gradient of the output. x is the input
 * of the layer. The members dx, accumulate, activation and gate of the argument `dx` describe how the gradient of x is
 * computed. */
static void linear_backward(const aoei_layer *layer, size_t kind, aoei_tensor dy, aoei_tensor x, aoei_linear_grads dx) {
    dx.dw = layer->g[kind];
    dx.db = layer->g[kind + 1];
    dx.workspace = layer->s->workspace;
    aoei_adapter adapter;
    if (aoei_layer_adapter(layer, kind, &adapter))
        dx.adapter = &adapter;
    aoei_linear_backward(layer->ctx, &dx, dy, x, layer->w[kind]);
}

/* Returns arguments with which the gradient of the input of a linear layer is written to dx, or added to dx if
 * accumulate is
 * 1. */
static aoei_linear_grads input_grad(aoei_tensor dx, int accumulate) {
    aoei_linear_grads l;
    memset(&l, 0, sizeof l);
    l.dx = dx;
    l.accumulate = accumulate;
    return l;
}

/* Applies the backward pass of dropout to the gradient d. Returns the result in the type of the operands of matmuls. If
 * there is no dropout and d has this type, the result is d; otherwise it is stored in grad_b. */
static aoei_tensor through_dropout(const aoei_layer *layer, aoei_tensor d, uint32_t site) {
    const aoei_tensor operand = aoei_tensor_rows(layer->s->grad_b, 0, layer->batch->n_tokens);
    const aoei_dropout drop = aoei_layer_dropout(layer, site);
    if (drop.p == 0 && operand.type == d.type)
        return d;
    aoei_dropout_add(layer->ctx, operand, d, (aoei_tensor){0}, layer->batch, &drop);
    return operand;
}

/* Computes dmid, the gradient of `mid` (the input of the feed-forward), from ddown, the gradient of the output of the
 * feed-forward. If accumulate is 1, the gradient is added to dmid. */
static void feed_forward_backward(const aoei_layer *layer, aoei_tensor ddown, aoei_tensor dmid, int accumulate) {
    const aoei_layer_state *l = &layer->l;
    const aoei_activation activation = layer->c->activation;
    aoei_linear_grads down = input_grad(layer->act, 0);
    if (layer->c->gated) {
        aoei_glu_forward(layer->ctx, layer->act, l->gate, l->up, activation);
        linear_backward(layer, AOEI_LW_DOWN, ddown, layer->act, down);
        aoei_glu_backward(layer->ctx, l->gate, l->up, layer->act, activation);
        linear_backward(layer, AOEI_LW_GATE, l->gate, l->mid, input_grad(dmid, accumulate));
        linear_backward(layer, AOEI_LW_UP, l->up, l->mid, input_grad(dmid, 1));
        return;
    }
    aoei_activation_forward(layer->ctx, layer->act, l->up, activation);
    down.activation = activation;
    down.gate = l->up;
    linear_backward(layer, AOEI_LW_DOWN, ddown, layer->act, down);
    linear_backward(layer, AOEI_LW_UP, layer->act, l->mid, input_grad(dmid, accumulate));
}

/* The backward pass of the norms of queries and keys. Replaces dqk, the gradient of the normalized queries and keys, by
 * the gradient of their values before the norms, and converts it to the type of `to` if dqk is not `to`. */
static void qk_norm_backward(const aoei_layer *layer, aoei_tensor to, aoei_tensor dqk) {
    const aoei_layer_state *l = &layer->l;
    const aoei_tensor *w = layer->w, *g = layer->g;
    const size_t Q = aoei_query_width(layer->c), K = aoei_key_width(layer->c);
    const aoei_tensor dq = aoei_tensor_cols(dqk, 0, Q), dk = aoei_tensor_cols(dqk, Q, K);
    if (layer->c->qk_norm == AOEI_QK_LAYERNORM) {
        aoei_layernorm_backward(layer->ctx, dq, g[AOEI_LW_Q_NORM], g[AOEI_LW_Q_NORM_BIAS], dq,
                                aoei_tensor_cols(l->qk, 0, Q), l->stats_q, w[AOEI_LW_Q_NORM]);
        aoei_layernorm_backward(layer->ctx, dk, g[AOEI_LW_K_NORM], g[AOEI_LW_K_NORM_BIAS], dk,
                                aoei_tensor_cols(l->qk, Q, K), l->stats_k, w[AOEI_LW_K_NORM]);
    } else {
        aoei_rmsnorm_backward(layer->ctx, dq, g[AOEI_LW_Q_NORM], dq, aoei_tensor_cols(l->qk, 0, Q), l->stats_q,
                              w[AOEI_LW_Q_NORM], layer->c->norm_plus_one);
        aoei_rmsnorm_backward(layer->ctx, dk, g[AOEI_LW_K_NORM], dk, aoei_tensor_cols(l->qk, Q, K), l->stats_k,
                              w[AOEI_LW_K_NORM], layer->c->norm_plus_one);
    }
    if (to.data != dqk.data)
        aoei_tensor_copy(layer->ctx, to, dqk);
}

/* Computes the gradients through the keys and queries of relative positions: adds to s->relative_grad. */
static void relative_backward(const aoei_layer *layer) {
    const aoei_transformer_state *s = layer->s;
    aoei_layer plain = *layer; /* without dropout, as in aoei_layer_relative */
    plain.drop = NULL;
    if (layer->c->relative.keys) {
        aoei_tensor_copy(layer->ctx, s->relative_keys, s->relative_dkeys);
        linear_backward(&plain, AOEI_LW_K, s->relative_keys, s->relative, input_grad(s->relative_grad, 1));
    }
    if (layer->c->relative.queries) {
        aoei_tensor_copy(layer->ctx, s->relative_queries, s->relative_dqueries);
        linear_backward(&plain, AOEI_LW_Q, s->relative_queries, s->relative, input_grad(s->relative_grad, 1));
    }
}

/* Computes din, the gradient of `in` (the attention input), from dproj, the gradient of the attention's output
 * projection. If accumulate is 1, the gradient is added to din. */
static void attention_backward(const aoei_layer *layer, aoei_tensor dproj, aoei_tensor din, int accumulate) {
    const aoei_layer_state *l = &layer->l;
    const size_t n = layer->batch->n_tokens, Q = aoei_query_width(layer->c), K = aoei_key_width(layer->c);
    const aoei_tensor dheads = aoei_tensor_rows(layer->s->grad_heads, 0, n),
                      dqkv = aoei_tensor_slice(layer->s->ffn_hidden, 0, n, Q + 2 * K);
    const aoei_tensor dqk =
        layer->s->grad_qk.rows ? aoei_tensor_rows(layer->s->grad_qk, 0, n) : aoei_tensor_cols(dqkv, 0, Q + K);
    const aoei_tensor dq = aoei_tensor_cols(dqkv, 0, Q), dk = aoei_tensor_cols(dqkv, Q, K),
                      dv = aoei_tensor_cols(dqkv, Q + K, K);
    const aoei_attention a = aoei_layer_attention(layer);
    linear_backward(layer, AOEI_LW_O, dproj, l->heads, input_grad(dheads, 0));
    if (layer->c->relative.span) {
        aoei_layer_relative(layer);
        aoei_tensor_zero(layer->ctx, layer->s->relative_dkeys);
        aoei_tensor_zero(layer->ctx, layer->s->relative_dqueries);
    }
    aoei_attention_backward(layer->ctx, aoei_tensor_cols(dqk, 0, Q), aoei_tensor_cols(dqk, Q, K), dv, dheads,
                            aoei_tensor_cols(l->qkv, 0, Q), aoei_tensor_cols(l->qkv, Q, K),
                            aoei_tensor_cols(l->qkv, Q + K, K), layer->batch, &a, layer->s->scratch);
    if (layer->c->rope.theta > 0)
        aoei_rope_apply(layer->ctx, dqk, aoei_layer_rope(layer), aoei_head_dim(layer->c), 1);
    if (layer->c->qk_norm)
        qk_norm_backward(layer, aoei_tensor_cols(dqkv, 0, Q + K), dqk);
    linear_backward(layer, AOEI_LW_Q, dq, l->in, input_grad(din, accumulate));
    linear_backward(layer, AOEI_LW_K, dk, l->in, input_grad(din, 1));
    linear_backward(layer, AOEI_LW_V, dv, l->in, input_grad(din, 1));
    relative_backward(layer);
}

/* The backward pass of a norm that follows attention or feed-forward, and of the dropout after it. d is the gradient of
 * the residual sum; `branch` is the workspace for the gradient of x, the input of the norm. Returns this gradient in
 * the type of the operands of matmuls. */
static aoei_tensor through_branch_norm(const aoei_layer *layer, aoei_tensor d, aoei_tensor branch, size_t norm,
                                       aoei_tensor x, aoei_tensor stats, uint32_t site) {
    const aoei_tensor operand = aoei_tensor_rows(layer->s->grad_b, 0, layer->batch->n_tokens);
    const aoei_dropout drop = aoei_layer_dropout(layer, site);
    if (drop.p > 0)
        aoei_dropout_add(layer->ctx, branch, d, (aoei_tensor){0}, layer->batch, &drop);
    aoei_transformer_norm_backward(layer->ctx, layer->c, branch, layer->g + norm, drop.p > 0 ? branch : d, x, stats,
                                   layer->w + norm);
    if (operand.type == branch.type)
        return branch;
    aoei_tensor_copy(layer->ctx, operand, branch);
    return operand;
}

/* Computes the gradient of the output of attention or feed-forward from d, the gradient of the residual sum. `norm` is
 * the kind of the norm that follows them in some models. */
static aoei_tensor branch_gradient(const aoei_layer *layer, aoei_tensor d, aoei_tensor branch, size_t norm) {
    const aoei_layer_state *l = &layer->l;
    const uint32_t site = norm == AOEI_LW_NORM3 ? AOEI_SITE_ATTENTION_OUTPUT : AOEI_SITE_FFN_OUTPUT;
    if (!layer->c->branch_norms)
        return through_dropout(layer, d, site);
    return norm == AOEI_LW_NORM3 ? through_branch_norm(layer, d, branch, norm, l->attended, l->stats3, site)
                                 : through_branch_norm(layer, d, branch, norm, l->expanded, l->stats4, site);
}

static void post_norm_backward(const aoei_layer *layer, aoei_tensor d) {
    const aoei_layer_state *l = &layer->l;
    const size_t norm1 = AOEI_LW_NORM1, norm2 = AOEI_LW_NORM2;
    aoei_transformer_norm_backward(layer->ctx, layer->c, d, layer->g + norm2, d, l->sum2, l->stats2, layer->w + norm2);
    feed_forward_backward(layer, through_dropout(layer, d, AOEI_SITE_FFN_OUTPUT), d, 1);
    const aoei_tensor kept =
        layer->c->second_norm ? aoei_tensor_rows(layer->s->grad_norm, 0, layer->batch->n_tokens) : d;
    if (layer->c->second_norm) {
        aoei_transformer_norm_backward(layer->ctx, layer->c, d, layer->g + AOEI_LW_NORM3, d, l->attended, l->stats3,
                                       layer->w + AOEI_LW_NORM3);
        aoei_tensor_copy(layer->ctx, kept, d); /* gradient of the second sum, which x and the output of norm 1
                                                  receive */
    }
    aoei_transformer_norm_backward(layer->ctx, layer->c, d, layer->g + norm1, d, l->sum1, l->stats1, layer->w + norm1);
    attention_backward(layer, through_dropout(layer, d, AOEI_SITE_ATTENTION_OUTPUT), d, 1);
    if (layer->c->second_norm)
        aoei_add(layer->ctx, d, d, kept);
}

static void pre_norm_backward(const aoei_layer *layer, aoei_tensor d) {
    const aoei_layer_state *l = &layer->l;
    const size_t norm1 = AOEI_LW_NORM1, norm2 = AOEI_LW_NORM2;
    const aoei_tensor branch = aoei_tensor_rows(layer->s->grad_norm, 0, layer->batch->n_tokens);
    feed_forward_backward(layer, branch_gradient(layer, d, branch, AOEI_LW_NORM4), branch, 0);
    aoei_transformer_norm_backward(layer->ctx, layer->c, branch, layer->g + norm2, branch, l->sum1, l->stats2,
                                   layer->w + norm2);
    aoei_add(layer->ctx, d, d, branch);
    if (!aoei_has_norm1(layer->c, layer->layer)) {
        attention_backward(layer, branch_gradient(layer, d, branch, AOEI_LW_NORM3), d, 1);
        return;
    }
    attention_backward(layer, branch_gradient(layer, d, branch, AOEI_LW_NORM3), branch, 0);
    aoei_transformer_norm_backward(layer->ctx, layer->c, branch, layer->g + norm1, branch, layer->x, l->stats1,
                                   layer->w + norm1);
    aoei_add(layer->ctx, d, d, branch);
}

void aoei_layer_backward(const aoei_layer *layer, aoei_tensor d) {
    if (layer->c->pre_norm)
        pre_norm_backward(layer, d);
    else
        post_norm_backward(layer, d);
}
