/* SPDX-License-Identifier: MIT
 * The transformer encoder: memory layout, embedding, loop over the layers, and final norm. The configuration selects
 * the variant. The embedding output is dropout(norm(word + position + token type)) (Devlin et al. 2019). The cutoffs of
 * a batch (nn/cutoff.h) are applied after this dropout, and before the projection of models whose embeddings have
 * another size. Vectors of first tokens (aoei_first_vectors) replace the result. Pre-norm models have an additional
 * norm after the last layer (Touvron et al. 2023).
 */
#include "encoder/transformer.h"

#include <string.h>

#include "encoder/relative_embeddings.h"
#include "encoder/layer_pooling.h"
#include "encoder/slots.h"
#include "encoder/token_pooling.h"
#include "encoder/transformer_layer.h"
#include "encoder/transformer_layer_backward.h"
#include "nn/adapter.h"
#include "nn/attention.h"
#include "nn/batch.h"
#include "nn/cutoff.h"
#include "nn/dropout.h"
#include "nn/elementwise.h"
#include "nn/embedding.h"
#include "nn/gemm.h"
#include "nn/int8_rows.h"
#include "nn/layernorm.h"
#include "nn/linear.h"
#include "nn/rope.h"
#include "nn/rows.h"
#include "nn/score_bias.h"
#include "nn/tensor.h"

static aoei_tensor stats_take(const aoei_encoder_config *c, aoei_arena *arena, size_t n) {
    return aoei_tensor_take(arena, n, c->norm == AOEI_RMSNORM ? 1 : 2);
}

/* Allocates the inputs and statistics of the norms of queries, keys and branches, in training of models with these
 * norms. */
static void branch_layout(aoei_layer_state *l, const aoei_encoder_config *c, aoei_arena *arena, size_t n,
                          aoei_encoder_mode mode) {
    if (c->qk_norm) {
        l->qk = aoei_tensor_take_typed(arena, mode.type, n, aoei_query_width(c) + aoei_key_width(c));
        l->stats_q = aoei_tensor_take(arena, n, c->qk_norm == AOEI_QK_LAYERNORM ? 2 : c->heads);
        l->stats_k = aoei_tensor_take(arena, n, c->qk_norm == AOEI_QK_LAYERNORM ? 2 : aoei_kv_heads(c));
    }
    if (!c->branch_norms && !c->second_norm)
        return;
    l->attended = aoei_tensor_take_typed(arena, mode.type, n, c->hidden);
    l->stats3 = stats_take(c, arena, n);
    if (!c->branch_norms)
        return;
    l->expanded = aoei_tensor_take_typed(arena, mode.type, n, c->hidden);
    l->stats4 = stats_take(c, arena, n);
}

/* Allocates the activations of a layer, except `out`. In inference, some tensors share memory: a norm that follows a
 * residual sum overwrites its input, sum2 uses the memory of `out`, and in pre-norm models, the outputs of both norms
 * of a layer use one tensor. */
static void layer_layout(aoei_layer_state *l, const aoei_encoder_config *c, aoei_arena *arena, size_t n,
                         aoei_encoder_mode mode) {
    const size_t D = c->hidden, I = c->intermediate, Q = aoei_query_width(c);
    memset(l, 0, sizeof *l);
    l->qkv = aoei_tensor_take_typed(arena, mode.type, n, Q + 2 * aoei_key_width(c));
    l->heads = aoei_tensor_take_typed(arena, mode.type, n, Q);
    l->sum1 = aoei_tensor_take_typed(arena, mode.type, n, D);
    l->mid = mode.training || c->pre_norm ? aoei_tensor_take_typed(arena, mode.type, n, D) : l->sum1;
    if (c->pre_norm)
        l->in = mode.training ? aoei_tensor_take_typed(arena, mode.type, n, D) : l->mid;
    if (mode.training || c->gated)
        l->up = aoei_tensor_take_typed(arena, mode.type, n, I);
    if (!mode.training)
        return;
    branch_layout(l, c, arena, n, mode);
    if (c->gated)
        l->gate = aoei_tensor_take_typed(arena, mode.type, n, I);
    l->stats1 = stats_take(c, arena, n);
    l->stats2 = stats_take(c, arena, n);
    if (!c->pre_norm)
        l->sum2 = aoei_tensor_take_typed(arena, mode.type, n, D);
}

/* Allocates the activations of all layers and the hidden states. In training, every layer has its own activations or,
 * with recomputation, only its own output. In inference, all layers use one set of activations and one output
 * tensor. */
static void layers_layout(aoei_transformer_state *t, aoei_encoder_state *s, const aoei_encoder_config *c,
                          aoei_arena *arena) {
    const int own = s->mode.training && !s->mode.recompute;
    const size_t n = s->n_tokens;
    aoei_layer_state layer;
    if (c->embed_width)
        t->embedded = aoei_tensor_take_typed(arena, s->mode.type, n, c->embed_width);
    aoei_tensor out = aoei_tensor_take_typed(arena, s->mode.type, n, c->hidden);
    if (s->hidden)
        s->hidden[0] = out;
    t->layers = aoei_arena_take_array(arena, c->layers, sizeof *t->layers);
    for (size_t l = 0; l < c->layers; l++) {
        if (own || l == 0)
            layer_layout(&layer, c, arena, n, s->mode);
        if (s->mode.training || l == 0)
            out = aoei_tensor_take_typed(arena, s->mode.type, n, c->hidden);
        layer.out = out;
        if (!s->mode.training || c->pre_norm)
            layer.sum2 = out;
        if (s->hidden)
            s->hidden[l + 1] = out;
        if (t->layers)
            t->layers[l] = layer;
    }
    if (!s->mode.training || !c->pre_norm)
        return;
    t->final = aoei_tensor_take_typed(arena, s->mode.type, n, c->hidden);
    t->final_stats = stats_take(c, arena, n);
    if (s->hidden)
        s->hidden[c->layers] = t->final;
}

/* Returns the size in bytes of the packing workspace of a linear layer (nn/linear.h). The forward pass packs only the
 * weight.
 */
static size_t workspace_of(const aoe_context *ctx, aoei_encoder_mode mode, int adapters, size_t n, size_t out,
                           size_t in) {
    return mode.training || adapters ? aoei_linear_workspace(ctx, mode.type, n, out, in)
                                     : aoei_weight_packed_size(ctx, mode.type, out, in);
}

/* Returns the size in bytes of a packing workspace that is large enough for every linear layer with n tokens. */
static size_t linear_workspace(const aoe_context *ctx, const aoei_encoder_config *c, aoei_encoder_mode mode, size_t n) {
    const int adapters = c->lora.r > 0;
    size_t most = c->embed_width ? workspace_of(ctx, mode, adapters, n, c->hidden, c->embed_width) : 0;
    for (size_t kind = 0; kind < AOEI_LW_COUNT; kind++) {
        aoei_slot d;
        aoei_slot_describe(c, aoei_layer_slot(0, kind), &d);
        const size_t workspace = d.linear && !d.absent ? workspace_of(ctx, mode, adapters, n, d.rows, d.cols) : 0;
        most = workspace > most ? workspace : most;
    }
    return most;
}

/* Allocates the tensors that only the backward pass needs. */
static void gradients_layout(aoei_transformer_state *t, aoei_encoder_state *s, const aoei_encoder_config *c,
                             aoei_arena *arena) {
    const aoei_dtype type = s->mode.type;
    const size_t D = c->hidden, n = s->n_tokens;
    if (!c->no_embed_norm) {
        t->embed_sum = aoei_tensor_take_typed(arena, type, n, aoei_embed_width(c));
        t->embed_stats = stats_take(c, arena, n);
    }
    if (c->embed_width)
        t->grad_embed = aoei_tensor_take(arena, n, c->embed_width);
    s->grad_last = aoei_tensor_take(arena, n, D);
    s->grad_first = aoei_tensor_take(arena, n, D);
    if (s->mode.taps)
        s->grad_tap = aoei_tensor_take(arena, n, D);
    t->grad_b = aoei_tensor_take_typed(arena, type, n, D);
    t->grad_heads = aoei_tensor_take_typed(arena, type, n, aoei_query_width(c));
    if (c->qk_norm && type != AOEI_F32)
        t->grad_qk = aoei_tensor_take(arena, n, aoei_query_width(c) + aoei_key_width(c));
    if (c->pre_norm || c->second_norm)
        t->grad_norm = aoei_tensor_take(arena, n, D);
}

/* Returns the largest number of input features of the linear layers of a layer. */
static size_t largest_input(const aoei_encoder_config *c) {
    const size_t most = c->intermediate > aoei_query_width(c) ? c->intermediate : aoei_query_width(c);
    return most > c->hidden ? most : c->hidden;
}

/* Allocates the workspaces of linear layers and their adapters. Operands are packed in the workspace of the linear
 * layers in training, if weights are frozen, and if weights are not packed. */
static void linear_layout(aoei_transformer_state *t, const aoei_encoder_state *s, const aoe_context *ctx,
                          const aoei_encoder_config *c, aoei_arena *arena) {
    const aoei_lora *lora = &c->lora;
    const size_t n = s->n_tokens > t->relative.rows ? s->n_tokens : t->relative.rows;
    if (s->mode.training || s->mode.unpacked || lora->r)
        t->workspace = aoei_workspace_take(arena, linear_workspace(ctx, c, s->mode, n));
    if (s->mode.int8)
        t->int8_rows = aoei_workspace_take(arena, aoei_int8_rows_bytes(n, largest_input(c) + AOEI_INT8_SPLIT_COLUMNS));
    if (!lora->r)
        return;
    t->low = aoei_workspace_take(arena, aoei_adapter_low_bytes(n, lora->r));
    if (s->mode.training && lora->dropout > 0)
        t->dropped = aoei_workspace_take(arena, aoei_adapter_dropped_bytes(n, largest_input(c)));
}

/* Allocates the tensors that all layers use. */
static void work_layout(aoei_transformer_state *t, const aoei_encoder_state *s, const aoe_context *ctx,
                        const aoei_encoder_config *c, aoei_arena *arena) {
    const size_t qkv = aoei_query_width(c) + 2 * aoei_key_width(c), n = s->n_tokens;
    const size_t columns = c->intermediate > qkv || !s->mode.training ? c->intermediate : qkv;
    if (c->score_buckets || c->alibi)
        t->score_bias = aoei_tensor_take(arena, c->heads, aoei_score_bias_cols(s->longest));
    if (c->score_buckets && s->mode.training && !c->lora.r)
        t->score_grads = aoei_tensor_take(arena, s->n_texts * c->heads, AOEI_SCORE_BUCKETS);
    aoei_relative_layout(t, s, c, arena);
    const aoei_attention a = {.heads = c->heads,
                              .kv_heads = aoei_kv_heads(c),
                              .head_dim = aoei_head_dim(c),
                              .bias.values = t->score_bias,
                              .relative.span = c->relative.span};
    t->ffn_hidden = aoei_tensor_take_typed(arena, s->mode.type, n, columns);
    t->scratch = aoei_workspace_take(arena, aoei_attention_scratch(ctx, &a, s->mode.type, s->longest));
    if (c->rope.theta > 0)
        t->rope = aoei_tensor_take(arena, n, aoei_rope_dims(&c->rope, aoei_head_dim(c)));
    if (c->rope_local.theta > 0)
        t->rope_local = aoei_tensor_take(arena, n, aoei_rope_dims(&c->rope_local, aoei_head_dim(c)));
}

static void layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena) {
    aoei_transformer_state t = {0};
    const size_t before = arena->used;
    layers_layout(&t, s, c, arena);
    s->kept_bytes = arena->used - before;
    work_layout(&t, s, ctx, c, arena);
    aoei_layer_pooling_layout(s, c, arena);
    linear_layout(&t, s, ctx, c, arena);
    if (s->mode.training)
        gradients_layout(&t, s, c, arena);
    s->own = aoei_arena_take(arena, sizeof t);
    if (s->own)
        memcpy(s->own, &t, sizeof t);
}

static void embedding_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                              const aoei_batch *batch, const aoei_encoder_state *s, const aoei_encoder_dropout *drop) {
    const size_t n = batch->n_tokens;
    const int norm = !c->no_embed_norm, kept = norm && s->mode.training;
    const aoei_transformer_state *t = s->own;
    const aoei_tensor none = {0}, first = aoei_tensor_rows(c->embed_width ? t->embedded : s->hidden[0], 0, n);
    const aoei_tensor sum = kept ? aoei_tensor_rows(t->embed_sum, 0, n) : first;
    const aoei_tensor stats = kept ? aoei_tensor_rows(t->embed_stats, 0, n) : none;
    aoei_embedding_forward(ctx, sum, w[AOEI_W_WORD], w[AOEI_W_POSITION], c->position_offset, w[AOEI_W_TOKEN_TYPE],
                           batch);
    if (c->embed_scale > 0)
        aoei_scale(ctx, sum, c->embed_scale);
    if (norm)
        aoei_transformer_norm(ctx, c, first, stats, sum, w + AOEI_W_EMBED_NORM);
    if (drop) {
        const aoei_dropout d = aoei_dropout_site(drop, drop->hidden, AOEI_SITE_EMBEDDING);
        aoei_dropout_add(ctx, first, first, none, batch, &d);
    }
    if (batch->cutoffs)
        aoei_cutoff_apply(ctx, first, batch);
    if (c->embed_width)
        aoei_linear_forward(ctx, aoei_tensor_rows(s->hidden[0], 0, n), first, w[AOEI_W_EMBED_PROJECTION],
                            w[AOEI_W_EMBED_PROJECTION_BIAS], &(aoei_linear_epilogue){.workspace = t->workspace});
}

/* Computes the gradients of the projection that follows the embedding from d, the gradient of its output. Returns the
 * gradient of its input. */
static aoei_tensor projection_backward(const aoe_context *ctx, const aoei_tensor *w, const aoei_tensor *grads,
                                       const aoei_batch *batch, const aoei_transformer_state *t, aoei_tensor d) {
    const aoei_tensor dx = aoei_tensor_rows(t->grad_embed, 0, d.rows), x = aoei_tensor_rows(t->embedded, 0, d.rows);
    const aoei_linear_grads g = {.dx = dx,
                                 .dw = grads[AOEI_W_EMBED_PROJECTION],
                                 .db = grads[AOEI_W_EMBED_PROJECTION_BIAS],
                                 .workspace = t->workspace};
    if (x.type != d.type) { /* matmuls need operands of one type */
        const aoei_tensor operand = aoei_tensor_rows(t->grad_b, 0, d.rows);
        aoei_dropout_add(ctx, operand, d, (aoei_tensor){0}, batch, &(aoei_dropout){0});
        d = operand;
    }
    aoei_linear_backward(ctx, &g, d, x, w[AOEI_W_EMBED_PROJECTION]);
    return dx;
}

static void forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_batch *batch,
                    aoei_encoder_state *s, const aoei_encoder_dropout *drop) {
    const size_t n = batch->n_tokens;
    const aoei_transformer_state *t = s->own;
    embedding_forward(ctx, c, w, batch, s, drop);
    if (s->first)
        aoei_rows_put(ctx, aoei_tensor_rows(s->hidden[0], 0, n), aoei_tensor_rows(s->first->value, 0, batch->n_texts),
                      batch->offsets);
    aoei_layer_pooling_add(ctx, c, w, s, 0, n);
    if (c->rope.theta > 0)
        aoei_rope_table(ctx, aoei_tensor_rows(t->rope, 0, n), &c->rope, batch);
    if (c->rope_local.theta > 0)
        aoei_rope_table(ctx, aoei_tensor_rows(t->rope_local, 0, n), &c->rope_local, batch);
    if (c->alibi)
        aoei_score_bias_slopes(t->score_bias, batch->longest);
    else if (c->score_buckets)
        aoei_score_bias_expand(t->score_bias, w[AOEI_W_SCORE_BIAS], batch->longest);
    aoei_relative_forward(ctx, c, w, t);
    for (size_t l = 0; l < c->layers; l++) {
        const aoei_layer layer = aoei_layer_of(ctx, c, w, NULL, batch, s, drop, l);
        aoei_layer_forward(&layer);
        if (!c->pre_norm || l + 1 < c->layers)
            aoei_layer_pooling_add(ctx, c, w, s, l + 1, n);
    }
    if (!c->pre_norm)
        return;
    const aoei_tensor none = {0}, x = aoei_tensor_rows(t->layers[c->layers - 1].out, 0, n);
    aoei_transformer_norm(ctx, c, aoei_tensor_rows(s->hidden[c->layers], 0, n),
                          s->mode.training ? aoei_tensor_rows(t->final_stats, 0, n) : none, x, w + AOEI_W_FINAL_NORM);
    aoei_layer_pooling_add(ctx, c, w, s, c->layers, n);
}

static void embedding_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                               const aoei_tensor *grads, const aoei_batch *batch, const aoei_encoder_state *s,
                               const aoei_encoder_dropout *drop, aoei_tensor d) {
    const size_t n = batch->n_tokens;
    const aoei_transformer_state *t = s->own;
    if (c->embed_width)
        d = projection_backward(ctx, w, grads, batch, t, d);
    if (batch->cutoffs)
        aoei_cutoff_apply(ctx, d, batch);
    if (drop) {
        const aoei_dropout e = aoei_dropout_site(drop, drop->hidden, AOEI_SITE_EMBEDDING);
        aoei_dropout_add(ctx, d, d, (aoei_tensor){0}, batch, &e);
    }
    if (!c->no_embed_norm)
        aoei_transformer_norm_backward(ctx, c, d, grads + AOEI_W_EMBED_NORM, d, aoei_tensor_rows(t->embed_sum, 0, n),
                                       aoei_tensor_rows(t->embed_stats, 0, n), w + AOEI_W_EMBED_NORM);
    if (c->embed_scale > 0) /* models with this factor have neither position embeddings nor token types */
        aoei_scale(ctx, d, c->embed_scale);
    aoei_embedding_backward(ctx, grads[AOEI_W_WORD], grads[AOEI_W_POSITION], c->position_offset,
                            grads[AOEI_W_TOKEN_TYPE], d, batch);
}

/* Computes s->grad_tap, the gradient of hidden state l that comes from s->taps. Returns 1 if there is one. */
static int tap_gradient(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_batch *batch,
                        const aoei_encoder_state *s, size_t l) {
    const size_t n = batch->n_tokens;
    if (!s->taps || !s->taps->grad[l].data)
        return 0;
    aoei_token_pool_gradient(ctx, c, aoei_tensor_rows(s->grad_tap, 0, n), s->taps->pooling, s->taps->grad[l],
                             aoei_tensor_rows(s->hidden[l], 0, n), batch);
    return 1;
}

/* Moves the rows of d [N, D], the gradient of the embedding output, that belong to vectors of first tokens. */
static void first_backward(const aoe_context *ctx, const aoei_batch *batch, const aoei_first_vectors *first,
                           aoei_tensor d) {
    aoei_rows_gather(ctx, aoei_tensor_rows(first->grad, 0, batch->n_texts), d, batch->offsets);
    aoei_rows_clear(ctx, d, batch->offsets, batch->n_texts);
}

/* s->grad_last [N, D] contains the gradient of the last hidden state. The backward pass of each layer overwrites the
 * gradient of its output by the gradient of its input. */
static void backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                     const aoei_tensor *grads, const aoei_batch *batch, aoei_encoder_state *s,
                     const aoei_encoder_dropout *drop, int with_first) {
    const size_t n = batch->n_tokens;
    const aoei_transformer_state *t = s->own;
    const aoei_tensor d = aoei_tensor_rows(s->grad_last, 0, n);
    aoei_layer_pooling_backward(ctx, c, w, grads, s, n);
    if (c->pre_norm)
        aoei_transformer_norm_backward(ctx, c, d, grads + AOEI_W_FINAL_NORM, d,
                                       aoei_tensor_rows(t->layers[c->layers - 1].out, 0, n),
                                       aoei_tensor_rows(t->final_stats, 0, n), w + AOEI_W_FINAL_NORM);
    if (t->score_grads.rows)
        aoei_tensor_zero(ctx, aoei_tensor_rows(t->score_grads, 0, batch->n_texts * c->heads));
    aoei_relative_clear(ctx, t);
    for (size_t l = c->layers; l-- > 0;) {
        const aoei_layer layer = aoei_layer_of(ctx, c, w, grads, batch, s, drop, l);
        const int tap = tap_gradient(ctx, c, batch, s, l); /* before the backward pass overwrites the hidden state */
        if (s->mode.recompute)
            aoei_layer_forward(&layer);
        aoei_layer_backward(&layer, d);
        if (tap)
            aoei_add(ctx, d, d, aoei_tensor_rows(s->grad_tap, 0, n));
        aoei_layer_pooling_add_gradient(ctx, c, w, s, l, d);
    }
    if (t->score_grads.rows)
        aoei_score_bias_reduce(grads[AOEI_W_SCORE_BIAS],
                               aoei_tensor_rows(t->score_grads, 0, batch->n_texts * c->heads));
    if (s->first)
        first_backward(ctx, batch, s->first, d);
    if (c->lora.r) /* in a model with adapters, the embedding is frozen, so its gradients are not needed */
        return;
    aoei_relative_backward(ctx, c, w, grads, t);
    if (with_first)
        aoei_add(ctx, d, d, aoei_tensor_rows(s->grad_first, 0, n));
    embedding_backward(ctx, c, w, grads, batch, s, drop, d);
}

static double layer_operations(const aoei_encoder_config *c, size_t tokens) {
    const double D = (double)c->hidden, I = (double)c->intermediate, n = (double)tokens;
    const double Q = (double)aoei_query_width(c), K = (double)aoei_key_width(c);
    const double weights = 2 * D * (Q + K) + (c->gated ? 3.0 : 2.0) * D * I;
    /* number of pairs of a query and a key, without a sliding window */
    const double pairs = c->causal ? (n * n + n) / 2 : n * n;
    return 2.0 * n * weights + 4.0 * pairs * Q;
}

static aoei_activation mlm_activation(const aoei_encoder_config *c) {
    return c->mlm_activation == AOEI_IDENTITY ? c->activation : c->mlm_activation;
}

static void mlm_forward(const aoei_mlm_transform *t) {
    const aoei_linear_epilogue e = {.activation = mlm_activation(t->config), .pre = t->pre, .workspace = t->workspace};
    aoei_linear_forward(t->ctx, t->act, t->in, t->w[AOEI_HW_TRANSFORM], t->w[AOEI_HW_TRANSFORM_BIAS], &e);
    aoei_layernorm_forward(t->ctx, t->out, t->stats, t->act, t->w[AOEI_HW_NORM], t->w[AOEI_HW_NORM_BIAS],
                           t->config->norm_eps);
}

static void mlm_backward(const aoei_mlm_transform *t) {
    const aoei_tensor d = t->d_out;
    aoei_layernorm_backward(t->ctx, d, t->g[AOEI_HW_NORM], t->g[AOEI_HW_NORM_BIAS], d, t->act, t->stats,
                            t->w[AOEI_HW_NORM]);
    /* `act` then contains the gradient of `pre` */
    aoei_activation_backward(t->ctx, t->act, d, t->pre, mlm_activation(t->config));
    const aoei_linear_grads l = {
        .dx = t->d_in, .dw = t->g[AOEI_HW_TRANSFORM], .db = t->g[AOEI_HW_TRANSFORM_BIAS], .workspace = t->workspace};
    aoei_linear_backward(t->ctx, &l, t->act, t->in, t->w[AOEI_HW_TRANSFORM]);
}

const aoei_encoder_ops aoei_transformer_ops = {
    .layout = layout,
    .forward = forward,
    .backward = backward,
    .pool = aoei_token_pool,
    .pool_backward = aoei_token_pool_backward,
    .taps = 1,
    .int8 = 1,
    .unpacked = 1,
    .layer_operations = layer_operations,
    .mlm_forward = mlm_forward,
    .mlm_backward = mlm_backward,
};
