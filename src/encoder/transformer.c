/* SPDX-License-Identifier: MIT
 * The one encoder: a transformer over packed tokens, whose options the configuration
 * holds. Here is its layout in memory; encoder_forward.c and encoder_backward.c run it.
 *
 * In training every layer keeps its activations, or with recomputation its output
 * alone; in inference all layers share one set, and `out` doubles as the next
 * layer's input. Where two things are never needed together they share memory.
 */
#include "encoder/encoder.h"

#include "base/error.h"
#include "encoder/ran.h"
#include "nn/adapter.h"
#include "nn/attention.h"
#include "nn/batch.h"
#include "nn/linear.h"
#include "nn/pooling.h"
#include "encoder/transformer_layer.h"

#include <assert.h>
#include <string.h>

static aoei_tensor stats_take(const aoei_encoder_config *c, aoei_arena *arena, size_t n) {
    return aoei_tensor_take(arena, n, c->norm == AOEI_RMSNORM ? 1 : 2);
}

/* A layer's activations but for `out`. In inference the norms after a sum work in place, and sum2 is the memory of `out`;
 * the norms before have one room for their outputs. */
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
    if (c->gated)
        l->gate = aoei_tensor_take_typed(arena, mode.type, n, I);
    l->stats1 = stats_take(c, arena, n);
    l->stats2 = stats_take(c, arena, n);
    if (!c->pre_norm)
        l->sum2 = aoei_tensor_take_typed(arena, mode.type, n, D);
}

static void layers_layout(aoei_encoder_state *s, const aoei_encoder_config *c, aoei_arena *arena, size_t n) {
    const int own = s->mode.training && !s->mode.recompute;
    s->layers = aoei_arena_take_array(arena, c->layers, sizeof *s->layers);
    aoei_layer_state layer;
    aoei_tensor out = {0};
    for (size_t l = 0; l < c->layers; l++) {
        if (own || l == 0)
            layer_layout(&layer, c, arena, n, s->mode);
        if (s->mode.training || l == 0)
            out = aoei_tensor_take_typed(arena, s->mode.type, n, c->hidden);
        layer.out = out;
        if (!s->mode.training || c->pre_norm)
            layer.sum2 = out;
        if (s->layers)
            s->layers[l] = layer;
    }
}

/* Bytes of packing room that serves every linear layer of a block. */
static size_t linear_room(const aoe_context *ctx, const aoei_encoder_config *c, aoei_dtype type, size_t n) {
    size_t most = 0;
    for (size_t kind = 0; kind < AOEI_LW_COUNT; kind++) {
        aoei_slot d;
        aoei_slot_describe(c, aoei_layer_slot(0, kind), &d);
        const size_t room = d.linear && !d.absent ? aoei_linear_room(ctx, type, n, d.rows, d.cols) : 0;
        most = room > most ? room : most;
    }
    return most;
}

/* What only backward needs. */
static void gradients_layout(aoei_encoder_state *s, const aoei_encoder_config *c, aoei_arena *arena, size_t n) {
    const aoei_dtype type = s->mode.type;
    const size_t D = c->hidden;
    if (!c->no_embed_norm) {
        s->embed_sum = aoei_tensor_take_typed(arena, type, n, D);
        s->embed_stats = stats_take(c, arena, n);
    }
    s->grad_a = aoei_tensor_take(arena, n, D);
    s->grad_first = aoei_tensor_take(arena, n, D);
    if (!c->layers)
        return;
    s->grad_b = aoei_tensor_take_typed(arena, type, n, D);
    s->grad_heads = aoei_tensor_take_typed(arena, type, n, aoei_query_width(c));
    if (c->pre_norm)
        s->grad_norm = aoei_tensor_take(arena, n, D);
}

/* Rooms that the linear layers work in: training packs operands, and so do frozen weights. */
static void linear_layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena,
                          size_t n) {
    const aoei_lora *lora = &c->lora;
    if (s->mode.training || lora->r)
        s->room = aoei_room_take(arena, linear_room(ctx, c, s->mode.type, n));
    if (!lora->r)
        return;
    s->low = aoei_room_take(arena, aoei_adapter_low_bytes(n, lora->r));
    if (s->mode.training && lora->dropout > 0) {
        const size_t most = c->intermediate > aoei_query_width(c) ? c->intermediate : aoei_query_width(c);
        s->dropped = aoei_room_take(arena, aoei_adapter_dropped_bytes(n, most > c->hidden ? most : c->hidden));
    }
}

/* What the layers work in, one after the other. */
static void work_layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena,
                        size_t n, size_t longest) {
    const size_t qkv = aoei_query_width(c) + 2 * aoei_key_width(c);
    const size_t wide = c->intermediate > qkv || !s->mode.training ? c->intermediate : qkv;
    const aoei_attention a = {.heads = c->heads, .kv_heads = aoei_kv_heads(c), .head_dim = aoei_head_dim(c)};
    s->wide = aoei_tensor_take_typed(arena, s->mode.type, n, wide);
    s->scratch = aoei_room_take(arena, aoei_attention_scratch(ctx, &a, s->mode.type, longest));
    if (c->rope.theta > 0)
        s->rope = aoei_tensor_take(arena, n, aoei_head_dim(c));
}

int aoei_encoder_layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena,
                        size_t n_tokens, size_t n_texts, size_t longest, aoei_encoder_mode mode, aoe_error *err) {
    if (c->ran.window)
        return aoei_ran_layout(s, ctx, c, arena, n_tokens, n_texts, longest, mode, err);
    memset(s, 0, sizeof *s);
    s->n_tokens = n_tokens;
    s->n_texts = n_texts;
    s->longest = longest;
    s->mode = mode;
    const size_t before = arena->used;
    s->first = aoei_tensor_take_typed(arena, mode.type, n_tokens, c->hidden);
    layers_layout(s, c, arena, n_tokens);
    if (mode.training && c->pre_norm) {
        s->final = aoei_tensor_take_typed(arena, mode.type, n_tokens, c->hidden);
        s->final_stats = stats_take(c, arena, n_tokens);
    }
    s->kept_bytes = arena->used - before;
    if (c->layers) {
        work_layout(s, ctx, c, arena, n_tokens, longest);
        linear_layout(s, ctx, c, arena, n_tokens);
    }
    if (mode.training)
        gradients_layout(s, c, arena, n_tokens);
    if (arena->overflow)
        return aoei_fail(err, AOE_ENOMEM,
                         "activations of %zu tokens do not fit in memory; use a smaller --batch-tokens, --batch-size or "
                         "--cache-chunk",
                         n_tokens);
    return AOE_OK;
}

/* The first n rows of t; absent stays absent. */
static aoei_tensor rows_of(aoei_tensor t, size_t n) {
    return t.rows ? aoei_tensor_rows(t, 0, n) : t;
}

aoei_block aoei_block_of(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_tensor *grads,
                         const aoei_batch *batch, const aoei_encoder_state *s, const aoei_encoder_dropout *drop, size_t layer) {
    const size_t n = batch->n_tokens, slot = aoei_layer_slot(layer, 0);
    const aoei_layer_state *l = &s->layers[layer];
    aoei_block b = {.ctx = ctx, .c = c, .w = w + slot, .batch = batch, .s = s, .drop = drop, .layer = layer};
    b.g = grads ? grads + slot : NULL;
    b.act = aoei_tensor_slice(s->wide, 0, n, c->intermediate);
    b.x = aoei_tensor_rows(layer ? s->layers[layer - 1].out : s->first, 0, n);
    b.l = (aoei_layer_state){.in = c->pre_norm ? rows_of(l->in, n) : b.x,
                             .stats1 = rows_of(l->stats1, n),
                             .qkv = rows_of(l->qkv, n),
                             .heads = rows_of(l->heads, n),
                             .sum1 = rows_of(l->sum1, n),
                             .mid = rows_of(l->mid, n),
                             .stats2 = rows_of(l->stats2, n),
                             .gate = l->gate.rows ? rows_of(l->gate, n) : b.act,
                             .up = rows_of(l->up, n),
                             .sum2 = rows_of(l->sum2, n),
                             .out = rows_of(l->out, n)};
    return b;
}

aoei_tensor aoei_encoder_hidden(const aoei_encoder_state *s, const aoei_encoder_config *c, size_t layer, size_t n_tokens) {
    assert(layer == 0 || s->mode.training || layer == c->layers);
    if (layer == c->layers && s->final.rows)
        return aoei_tensor_rows(s->final, 0, n_tokens);
    return aoei_tensor_rows(layer == 0 ? s->first : s->layers[layer - 1].out, 0, n_tokens);
}

void aoei_encoder_pool(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor out, aoe_pooling pooling,
                       aoei_tensor last, const aoei_batch *batch, const aoei_encoder_state *s) {
    if (pooling >= AOE_POOLING_CELL_LAST)
        aoei_ran_pool_forward(ctx, out, pooling, batch, s);
    else
        aoei_pool_forward(ctx, out, pooling, aoei_encoder_hidden(s, c, 0, batch->n_tokens), last, batch);
}

int aoei_encoder_pool_backward(const aoe_context *ctx, aoe_pooling pooling, aoei_tensor dout, aoei_tensor last,
                               const aoei_batch *batch, aoei_encoder_state *s) {
    if (pooling >= AOE_POOLING_CELL_LAST)
        aoei_ran_pool_backward(ctx, pooling, dout, batch, s);
    else
        aoei_pool_backward(ctx, aoei_encoder_grad_first(s, batch->n_tokens), aoei_encoder_grad_last(s, batch->n_tokens),
                           pooling, dout, last, batch);
    return pooling == AOE_POOLING_FIRST_LAST_AVG;
}

aoei_tensor aoei_encoder_grad_last(const aoei_encoder_state *s, size_t n_tokens) {
    return aoei_tensor_rows(s->grad_a, 0, n_tokens);
}

aoei_tensor aoei_encoder_grad_first(const aoei_encoder_state *s, size_t n_tokens) {
    return aoei_tensor_rows(s->grad_first, 0, n_tokens);
}
