/* SPDX-License-Identifier: MIT
 * The forward pass of one transformer layer. In post-norm layers, norms follow the residual sums (Devlin et al. 2019;
 * modeling_bert.py of the library transformers):
 *
 *   mid = norm1(x + dropout(o(attention(q(x), k(x), v(x)))))
 *   out = norm2(mid + dropout(down(activation(up(mid)))))
 *
 * In pre-norm layers, norms precede attention and feed-forward (Touvron et al. 2023; modeling_llama.py). A pre-norm
 * layer with rotary positions and a gated feed-forward computes, without dropout:
 *
 *   sum1 = x + o(attention(rope(q(norm1(x))), rope(k(norm1(x))), v(norm1(x))))
 *   mid  = norm2(sum1)
 *   out  = sum1 + down(activation(gate(mid)) * up(mid))
 *
 * Some pre-norm models have further norms (Gemma 3): of each head of the queries and keys before rope, and of the
 * outputs of o and down before they are added.
 *
 * In post-norm layers with a second norm after the attention, mid is norm3(x + norm1(...)).
 *
 * Without dropout, the matmul that computes the output of attention or feed-forward also adds the residual.
 */
#include "encoder/transformer_layer.h"

#include <math.h>
#include <string.h>

#include "nn/adapter.h"
#include "nn/attention.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/glu.h"
#include "nn/int8_rows.h"
#include "nn/layernorm.h"
#include "nn/linear.h"
#include "nn/rmsnorm.h"
#include "nn/rope.h"
#include "nn/tensor.h"

/* Returns the first n rows of t. If t is absent, the result is absent. */
static aoei_tensor rows_of(aoei_tensor t, size_t n) {
    return t.rows ? aoei_tensor_rows(t, 0, n) : t;
}

aoei_layer aoei_layer_of(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                         const aoei_tensor *grads, const aoei_batch *batch, const aoei_encoder_state *s,
                         const aoei_encoder_dropout *drop, size_t layer) {
    const size_t n = batch->n_tokens, slot = aoei_layer_slot(aoei_layer_group(c, layer), 0);
    const aoei_transformer_state *own = s->own;
    const aoei_layer_state *l = &own->layers[layer];
    aoei_layer p = {.ctx = ctx, .c = c, .w = w + slot, .batch = batch, .s = own, .drop = drop, .layer = layer};
    p.g = grads ? grads + slot : NULL;
    p.act = aoei_tensor_slice(own->ffn_hidden, 0, n, c->intermediate);
    p.x = aoei_tensor_rows(s->hidden[layer], 0, n);
    p.l = (aoei_layer_state){.in = c->pre_norm && aoei_has_norm1(c, layer) ? rows_of(l->in, n) : p.x,
                             .stats1 = rows_of(l->stats1, n),
                             .qkv = rows_of(l->qkv, n),
                             .qk = rows_of(l->qk, n),
                             .stats_q = rows_of(l->stats_q, n),
                             .stats_k = rows_of(l->stats_k, n),
                             .attended = rows_of(l->attended, n),
                             .stats3 = rows_of(l->stats3, n),
                             .expanded = rows_of(l->expanded, n),
                             .stats4 = rows_of(l->stats4, n),
                             .heads = rows_of(l->heads, n),
                             .sum1 = rows_of(l->sum1, n),
                             .mid = rows_of(l->mid, n),
                             .stats2 = rows_of(l->stats2, n),
                             .gate = l->gate.rows ? rows_of(l->gate, n) : p.act,
                             .up = rows_of(l->up, n),
                             .sum2 = rows_of(l->sum2, n),
                             .out = rows_of(l->out, n)};
    return p;
}

aoei_dropout aoei_dropout_site(const aoei_encoder_dropout *drop, double p, uint32_t site) {
    aoei_dropout d;
    memset(&d, 0, sizeof d);
    d.site = site;
    if (drop) {
        d.p = p;
        memcpy(d.key, drop->key, sizeof d.key);
    }
    return d;
}

aoei_dropout aoei_layer_dropout(const aoei_layer *layer, uint32_t kind) {
    return aoei_dropout_site(layer->drop, layer->drop ? layer->drop->hidden : 0, aoei_site(layer->layer, kind));
}

/* Returns the factor of the attention scores. */
static double score_scale(const aoei_encoder_config *c) {
    return c->attention_scale > 0 ? c->attention_scale : 1.0 / sqrt((double)aoei_head_dim(c));
}

/* Returns the relative positions of the attention of the layer. */
static aoei_disentangled layer_relative(const aoei_layer *layer) {
    const aoei_transformer_state *s = layer->s;
    aoei_disentangled r;
    memset(&r, 0, sizeof r);
    r.span = layer->c->relative.span;
    r.rows = s->relative_rows;
    r.longest = s->longest;
    if (layer->c->relative.keys) {
        r.keys = s->relative_keys;
        r.dkeys = s->relative_dkeys;
    }
    if (layer->c->relative.queries) {
        r.queries = s->relative_queries;
        r.dqueries = s->relative_dqueries;
    }
    return r;
}

aoei_attention aoei_layer_attention(const aoei_layer *layer) {
    const aoei_encoder_config *c = layer->c;
    const aoei_encoder_dropout *drop = layer->drop;
    return (aoei_attention){
        .heads = c->heads,
        .kv_heads = aoei_kv_heads(c),
        .head_dim = aoei_head_dim(c),
        .causal = c->causal && layer->layer < c->bidirectional_from,
        .window = aoei_layer_window(c, layer->layer),
        .scale = score_scale(c),
        .drop = aoei_dropout_site(drop, drop ? drop->attention : 0, aoei_site(layer->layer, AOEI_SITE_ATTENTION)),
        .bias = {.values = layer->s->score_bias, .grads = layer->s->score_grads},
        .relative = layer_relative(layer)};
}

aoei_tensor aoei_layer_rope(const aoei_layer *layer) {
    return aoei_has_local_rope(layer->c, layer->layer) ? layer->s->rope_local : layer->s->rope;
}

void aoei_transformer_norm(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor y, aoei_tensor stats,
                           aoei_tensor x, const aoei_tensor *w) {
    if (c->norm == AOEI_RMSNORM)
        aoei_rmsnorm_forward(ctx, y, stats, x, w[0], c->norm_plus_one, c->norm_eps);
    else
        aoei_layernorm_forward(ctx, y, stats, x, w[0], w[1], c->norm_eps);
}

int aoei_layer_adapter(const aoei_layer *layer, size_t kind, aoei_adapter *a) {
    const aoei_lora *lora = &layer->c->lora;
    const size_t index = aoei_adapter_index(kind), down = AOEI_LW_ADAPTERS + 2 * index;
    if (!lora->r || !aoei_lora_of(lora, layer->layer, index).r)
        return 0;
    *a = (aoei_adapter){.down = layer->w[down],
                        .up = layer->w[down + 1],
                        .scale = aoei_lora_scale(lora, layer->layer, index),
                        .drop = aoei_dropout_site(layer->drop, lora->dropout, aoei_adapter_site(layer->layer, index)),
                        .batch = layer->batch,
                        .low = layer->s->low,
                        .dropped = layer->s->dropped};
    if (layer->g) {
        a->ddown = layer->g[down];
        a->dup = layer->g[down + 1];
    }
    return 1;
}

/* Returns the input x of linear layer `kind` in the type in which the layer computes: in int8, with one scale per
 * token, if its weight is packed for int8, otherwise x. The int8 input is valid until the next call. */
static aoei_tensor linear_input(const aoei_layer *layer, size_t kind, aoei_tensor x) {
    const aoei_tensor *w = &layer->w[kind];
    const int int8 = w->packed && w->packed_type == AOEI_I8;
    return int8 && x.type != AOEI_I8 ? aoei_quantize_rows(layer->ctx, x, w->split, layer->s->int8_rows) : x;
}

void aoei_layer_linear(const aoei_layer *layer, size_t kind, aoei_tensor y, aoei_tensor x,
                       const aoei_linear_epilogue *e) {
    aoei_linear_epilogue with_workspace;
    memset(&with_workspace, 0, sizeof with_workspace);
    if (e)
        with_workspace = *e;
    with_workspace.workspace = layer->s->workspace;
    aoei_adapter adapter;
    if (aoei_layer_adapter(layer, kind, &adapter))
        with_workspace.adapter = &adapter;
    aoei_linear_forward(layer->ctx, y, linear_input(layer, kind, x), layer->w[kind], layer->w[kind + 1],
                        &with_workspace);
}

/* Computes sum = residual + dropout(x w^T + bias), where w and bias are the parameters of linear layer `kind`, and
 * `site` is the dropout site. */
static void project_and_add(const aoei_layer *layer, size_t kind, aoei_tensor sum, aoei_tensor x, aoei_tensor residual,
                            uint32_t site) {
    const aoei_dropout drop = aoei_layer_dropout(layer, site);
    aoei_linear_epilogue e;
    memset(&e, 0, sizeof e);
    if (drop.p == 0)
        e.residual = residual;
    aoei_layer_linear(layer, kind, sum, x, &e);
    if (drop.p > 0)
        aoei_dropout_add(layer->ctx, sum, sum, residual, layer->batch, &drop);
}

/* Computes sum = residual + dropout(norm(x w^T + bias)) with the weights of linear layer `kind` and of norm `norm`
 * (AOEI_LW_*). In training, branch and stats receive the input of the norm and its statistics; in inference, they are
 * absent. */
static void project_norm_and_add(const aoei_layer *layer, size_t kind, size_t norm, aoei_tensor sum, aoei_tensor branch,
                                 aoei_tensor stats, aoei_tensor x, aoei_tensor residual, uint32_t site) {
    const aoei_dropout drop = aoei_layer_dropout(layer, site);
    const aoei_tensor y = branch.rows ? branch : sum;
    aoei_layer_linear(layer, kind, y, x, NULL);
    aoei_transformer_norm(layer->ctx, layer->c, sum, stats, y, layer->w + norm);
    aoei_dropout_add(layer->ctx, sum, sum, residual, layer->batch, &drop);
}

/* Computes the queries and keys from x, the input of their linear layers, and normalizes each of their heads if the
 * model has these norms. */
static void queries_and_keys(const aoei_layer *layer, aoei_tensor q, aoei_tensor k, aoei_tensor x) {
    const aoei_layer_state *l = &layer->l;
    const aoei_encoder_config *c = layer->c;
    const aoei_tensor raw_q = l->qk.rows ? aoei_tensor_cols(l->qk, 0, q.cols) : q,
                      raw_k = l->qk.rows ? aoei_tensor_cols(l->qk, q.cols, k.cols) : k;
    aoei_layer_linear(layer, AOEI_LW_Q, raw_q, x, NULL);
    aoei_layer_linear(layer, AOEI_LW_K, raw_k, x, NULL);
    if (!c->qk_norm)
        return;
    if (c->qk_norm == AOEI_QK_LAYERNORM) {
        const aoei_tensor *w = layer->w;
        aoei_layernorm_forward(layer->ctx, q, l->stats_q, raw_q, w[AOEI_LW_Q_NORM], w[AOEI_LW_Q_NORM_BIAS],
                               c->norm_eps);
        aoei_layernorm_forward(layer->ctx, k, l->stats_k, raw_k, w[AOEI_LW_K_NORM], w[AOEI_LW_K_NORM_BIAS],
                               c->norm_eps);
        return;
    }
    aoei_rmsnorm_forward(layer->ctx, q, l->stats_q, raw_q, layer->w[AOEI_LW_Q_NORM], c->norm_plus_one, c->norm_eps);
    aoei_rmsnorm_forward(layer->ctx, k, l->stats_k, raw_k, layer->w[AOEI_LW_K_NORM], c->norm_plus_one, c->norm_eps);
}

void aoei_layer_relative(const aoei_layer *layer) {
    const aoei_transformer_state *s = layer->s;
    aoei_layer plain = *layer; /* without dropout in adapters, whose masks are those of tokens */
    plain.drop = NULL;
    if (layer->c->relative.keys)
        aoei_layer_linear(&plain, AOEI_LW_K, s->relative_keys, s->relative, NULL);
    if (layer->c->relative.queries)
        aoei_layer_linear(&plain, AOEI_LW_Q, s->relative_queries, s->relative, NULL);
}

/* Computes layer->l.heads, the input of the output layer of the attention, from layer->l.in. */
static void attend(const aoei_layer *layer) {
    const aoei_layer_state *l = &layer->l;
    const size_t Q = aoei_query_width(layer->c), K = aoei_key_width(layer->c);
    const aoei_attention a = aoei_layer_attention(layer);
    const aoei_tensor q = aoei_tensor_cols(l->qkv, 0, Q), k = aoei_tensor_cols(l->qkv, Q, K),
                      v = aoei_tensor_cols(l->qkv, Q + K, K);
    queries_and_keys(layer, q, k, linear_input(layer, AOEI_LW_Q, l->in));
    aoei_layer_linear(layer, AOEI_LW_V, v, l->in, NULL);
    aoei_layer_relative(layer);
    if (layer->c->rope.theta > 0) /* one call rotates queries and keys, because their columns are adjacent in qkv */
        aoei_rope_apply(layer->ctx, aoei_tensor_cols(l->qkv, 0, Q + K), aoei_layer_rope(layer), aoei_head_dim(layer->c),
                        0);
    aoei_attention_forward(layer->ctx, l->heads, q, k, v, layer->batch, &a, layer->s->scratch);
}

/* Computes layer->act, the input of the down layer of the feed-forward, from layer->l.mid. */
static void expand(const aoei_layer *layer) {
    const aoei_layer_state *l = &layer->l;
    aoei_linear_epilogue up;
    memset(&up, 0, sizeof up);
    if (layer->c->gated) {
        const aoei_tensor in = linear_input(layer, AOEI_LW_GATE, l->mid);
        aoei_layer_linear(layer, AOEI_LW_GATE, l->gate, in, NULL);
        aoei_layer_linear(layer, AOEI_LW_UP, l->up, in, NULL);
        aoei_glu_forward(layer->ctx, layer->act, l->gate, l->up, layer->c->activation);
        return;
    }
    up.activation = layer->c->activation;
    up.pre = l->up;
    aoei_layer_linear(layer, AOEI_LW_UP, layer->act, l->mid, &up);
}

/* The forward pass of a pre-norm layer with norms after attention and feed-forward. */
static void branch_norm_forward(const aoei_layer *layer) {
    const aoei_layer_state *l = &layer->l;
    aoei_transformer_norm(layer->ctx, layer->c, l->in, l->stats1, layer->x, layer->w + AOEI_LW_NORM1);
    attend(layer);
    project_norm_and_add(layer, AOEI_LW_O, AOEI_LW_NORM3, l->sum1, l->attended, l->stats3, l->heads, layer->x,
                         AOEI_SITE_ATTENTION_OUTPUT);
    aoei_transformer_norm(layer->ctx, layer->c, l->mid, l->stats2, l->sum1, layer->w + AOEI_LW_NORM2);
    expand(layer);
    project_norm_and_add(layer, AOEI_LW_DOWN, AOEI_LW_NORM4, l->sum2, l->expanded, l->stats4, layer->act, l->sum1,
                         AOEI_SITE_FFN_OUTPUT);
}

/* Computes mid = norm3(x + mid). */
static void second_norm_forward(const aoei_layer *layer) {
    const aoei_layer_state *l = &layer->l;
    const aoei_tensor sum = l->attended.rows ? l->attended : l->mid;
    const aoei_dropout none = aoei_dropout_site(NULL, 0, 0);
    aoei_dropout_add(layer->ctx, sum, l->mid, layer->x, layer->batch, &none);
    aoei_transformer_norm(layer->ctx, layer->c, l->mid, l->stats3, sum, layer->w + AOEI_LW_NORM3);
}

void aoei_layer_forward(const aoei_layer *layer) {
    const aoei_layer_state *l = &layer->l;
    const int pre = layer->c->pre_norm;
    if (layer->c->branch_norms) {
        branch_norm_forward(layer);
        return;
    }
    const aoei_tensor *norm1 = layer->w + AOEI_LW_NORM1, *norm2 = layer->w + AOEI_LW_NORM2;
    if (pre && aoei_has_norm1(layer->c, layer->layer))
        aoei_transformer_norm(layer->ctx, layer->c, l->in, l->stats1, layer->x, norm1);
    attend(layer);
    project_and_add(layer, AOEI_LW_O, l->sum1, l->heads, layer->x, AOEI_SITE_ATTENTION_OUTPUT);
    aoei_transformer_norm(layer->ctx, layer->c, l->mid, pre ? l->stats2 : l->stats1, l->sum1, pre ? norm2 : norm1);
    if (layer->c->second_norm)
        second_norm_forward(layer);
    expand(layer);
    project_and_add(layer, AOEI_LW_DOWN, l->sum2, layer->act, pre ? l->sum1 : l->mid, AOEI_SITE_FFN_OUTPUT);
    if (!pre)
        aoei_transformer_norm(layer->ctx, layer->c, l->out, l->stats2, l->sum2, norm2);
}
