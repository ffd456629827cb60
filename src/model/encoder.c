/* SPDX-License-Identifier: MIT
 * The one encoder: BERT's post-norm transformer block (Devlin et al. 2019;
 * Hugging Face transformers, models/bert/modeling_bert.py), forward and backward
 * over packed tokens. It holds no arithmetic of its own: every step is an nn/ call.
 *
 *   first  = dropout(norm(word + position + token type))
 *   mid    = norm1(x + dropout(o(attention(q(x), k(x), v(x)))))
 *   out    = norm2(mid + dropout(down(gelu(up(mid)))))
 *
 * In training every layer keeps its activations, or with recomputation its output
 * alone; in inference all layers share one set, and `out` doubles as the next
 * layer's input. Without dropout the residual sums are made in the products' store.
 */
#include "model/encoder.h"

#include "base/error.h"
#include "model/ran.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static aoei_tensor no_tensor(void) {
    aoei_tensor t;
    memset(&t, 0, sizeof t);
    return t;
}

static aoei_attention attention_of(const aoei_encoder_config *c) {
    aoei_attention a;
    memset(&a, 0, sizeof a);
    a.heads = c->heads;
    a.kv_heads = c->heads;
    a.head_dim = c->hidden / c->heads;
    a.scale = 1.0;
    return a;
}

/* A layer's activations but for `out`. In inference sums are normalised in place, and sum2 is the memory of `out`. */
static void layer_layout(aoei_layer_state *l, const aoei_encoder_config *c, aoei_arena *arena, size_t n,
                         aoei_encoder_mode mode) {
    memset(l, 0, sizeof *l);
    l->qkv = aoei_tensor_take_typed(arena, mode.type, n, 3 * c->hidden);
    l->heads = aoei_tensor_take_typed(arena, mode.type, n, c->hidden);
    l->sum1 = aoei_tensor_take_typed(arena, mode.type, n, c->hidden);
    l->mid = l->sum1;
    if (!mode.training)
        return;
    l->stats1 = aoei_tensor_take(arena, n, 2);
    l->mid = aoei_tensor_take_typed(arena, mode.type, n, c->hidden);
    l->up = aoei_tensor_take_typed(arena, mode.type, n, c->intermediate);
    l->sum2 = aoei_tensor_take_typed(arena, mode.type, n, c->hidden);
    l->stats2 = aoei_tensor_take(arena, n, 2);
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
        if (!s->mode.training)
            layer.sum2 = out;
        if (s->layers)
            s->layers[l] = layer;
    }
}

/* What only backward needs. */
static void gradients_layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena,
                             size_t n) {
    const aoei_dtype type = s->mode.type;
    const size_t D = c->hidden, I = c->intermediate;
    if (!c->no_embed_norm) {
        s->embed_sum = aoei_tensor_take_typed(arena, type, n, D);
        s->embed_stats = aoei_tensor_take(arena, n, 2);
    }
    s->grad_a = aoei_tensor_take(arena, n, D);
    s->grad_first = aoei_tensor_take(arena, n, D);
    if (!c->layers)
        return;
    s->grad_b = aoei_tensor_take_typed(arena, type, n, D);
    s->grad_heads = aoei_tensor_take_typed(arena, type, n, D);
    const size_t square = aoei_linear_room(ctx, type, n, D, D), up = aoei_linear_room(ctx, type, n, I, D),
                 down = aoei_linear_room(ctx, type, n, D, I);
    const size_t most = up > down ? up : down;
    s->room = aoei_room_take(arena, most > square ? most : square);
}

/* What the layers work in, one after the other. */
static void work_layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena,
                        size_t n, size_t longest) {
    const size_t wide = c->intermediate > 3 * c->hidden || !s->mode.training ? c->intermediate : 3 * c->hidden;
    const aoei_attention a = attention_of(c);
    s->wide = aoei_tensor_take_typed(arena, s->mode.type, n, wide);
    s->scratch = aoei_room_take(arena, aoei_attention_scratch(ctx, &a, s->mode.type, longest));
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
    s->kept_bytes = arena->used - before;
    if (c->layers)
        work_layout(s, ctx, c, arena, n_tokens, longest);
    if (mode.training)
        gradients_layout(s, ctx, c, arena, n_tokens);
    if (arena->overflow)
        return aoei_fail(err, AOE_ENOMEM,
                         "activations of %zu tokens do not fit in memory; use a smaller --batch-tokens, --batch-size or "
                         "--cache-chunk",
                         n_tokens);
    return AOE_OK;
}

/* Dropout of one site; p 0 when there is none. */
static aoei_dropout site_dropout(const aoei_encoder_dropout *drop, double p, uint32_t site) {
    aoei_dropout d;
    memset(&d, 0, sizeof d);
    d.site = site;
    if (drop) {
        d.p = p;
        memcpy(d.key, drop->key, sizeof d.key);
    }
    return d;
}

static aoei_attention layer_attention(const aoei_encoder_config *c, const aoei_encoder_dropout *drop, size_t layer) {
    aoei_attention a = attention_of(c);
    a.scale = 1.0 / sqrt((double)a.head_dim);
    a.drop = site_dropout(drop, drop ? drop->attention : 0, aoei_site(layer, AOEI_SITE_ATTENTION));
    return a;
}

/* The first n rows of every tensor of a layer. */
static aoei_layer_state layer_rows(const aoei_layer_state *l, size_t n) {
    aoei_layer_state v;
    v.qkv = aoei_tensor_rows(l->qkv, 0, n);
    v.heads = aoei_tensor_rows(l->heads, 0, n);
    v.sum1 = aoei_tensor_rows(l->sum1, 0, n);
    v.stats1 = l->stats1.rows ? aoei_tensor_rows(l->stats1, 0, n) : l->stats1;
    v.mid = aoei_tensor_rows(l->mid, 0, n);
    v.up = l->up.rows ? aoei_tensor_rows(l->up, 0, n) : l->up;
    v.sum2 = aoei_tensor_rows(l->sum2, 0, n);
    v.stats2 = l->stats2.rows ? aoei_tensor_rows(l->stats2, 0, n) : l->stats2;
    v.out = aoei_tensor_rows(l->out, 0, n);
    return v;
}

static void embedding_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                              const aoei_batch *batch, const aoei_encoder_state *s, const aoei_encoder_dropout *drop) {
    const size_t n = batch->n_tokens;
    const int norm = !c->no_embed_norm, kept = norm && s->mode.training;
    const aoei_tensor first = aoei_tensor_rows(s->first, 0, n);
    const aoei_tensor sum = kept ? aoei_tensor_rows(s->embed_sum, 0, n) : first;
    const aoei_tensor stats = kept ? aoei_tensor_rows(s->embed_stats, 0, n) : no_tensor();
    aoei_embedding_forward(ctx, sum, w[AOEI_W_WORD], w[AOEI_W_POSITION], c->position_offset, w[AOEI_W_TOKEN_TYPE], batch);
    if (norm)
        aoei_layernorm_forward(ctx, first, stats, sum, w[AOEI_W_EMBED_NORM], w[AOEI_W_EMBED_NORM_BIAS], c->norm_eps);
    if (drop) {
        const aoei_dropout d = site_dropout(drop, drop->hidden, AOEI_SITE_EMBEDDING);
        aoei_dropout_add(ctx, first, first, no_tensor(), batch, &d);
    }
}

/* sum = residual + dropout(x w^T + b) */
static void project_and_add(const aoe_context *ctx, aoei_tensor sum, aoei_tensor x, aoei_tensor w, aoei_tensor b,
                            aoei_tensor residual, aoei_tensor room, const aoei_batch *batch, const aoei_dropout *drop) {
    aoei_linear_epilogue e;
    memset(&e, 0, sizeof e);
    e.room = room;
    if (drop->p == 0)
        e.residual = residual;
    aoei_linear_forward(ctx, sum, x, w, b, &e);
    if (drop->p > 0)
        aoei_dropout_add(ctx, sum, sum, residual, batch, drop);
}

static void layer_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_batch *batch,
                          const aoei_encoder_state *s, const aoei_layer_state *l, aoei_tensor x,
                          const aoei_encoder_dropout *drop, size_t layer) {
    const size_t D = c->hidden;
    const double p = drop ? drop->hidden : 0;
    const aoei_attention a = layer_attention(c, drop, layer);
    const aoei_tensor q = aoei_tensor_cols(l->qkv, 0, D), k = aoei_tensor_cols(l->qkv, D, D),
                      v = aoei_tensor_cols(l->qkv, 2 * D, D);
    aoei_linear_epilogue plain, up;
    memset(&plain, 0, sizeof plain);
    plain.room = s->room;
    aoei_linear_forward(ctx, q, x, w[AOEI_LW_Q], w[AOEI_LW_Q_BIAS], &plain);
    aoei_linear_forward(ctx, k, x, w[AOEI_LW_K], w[AOEI_LW_K_BIAS], &plain);
    aoei_linear_forward(ctx, v, x, w[AOEI_LW_V], w[AOEI_LW_V_BIAS], &plain);
    aoei_attention_forward(ctx, l->heads, q, k, v, batch, &a, s->scratch);
    const aoei_dropout d1 = site_dropout(drop, p, aoei_site(layer, AOEI_SITE_ATTENTION_OUTPUT));
    project_and_add(ctx, l->sum1, l->heads, w[AOEI_LW_O], w[AOEI_LW_O_BIAS], x, s->room, batch, &d1);
    aoei_layernorm_forward(ctx, l->mid, l->stats1, l->sum1, w[AOEI_LW_NORM1], w[AOEI_LW_NORM1_BIAS], c->norm_eps);
    up = plain;
    up.activation = c->activation;
    up.pre = l->up;
    const aoei_tensor act = aoei_tensor_slice(s->wide, 0, batch->n_tokens, c->intermediate);
    aoei_linear_forward(ctx, act, l->mid, w[AOEI_LW_UP], w[AOEI_LW_UP_BIAS], &up);
    const aoei_dropout d2 = site_dropout(drop, p, aoei_site(layer, AOEI_SITE_FFN_OUTPUT));
    project_and_add(ctx, l->sum2, act, w[AOEI_LW_DOWN], w[AOEI_LW_DOWN_BIAS], l->mid, s->room, batch, &d2);
    aoei_layernorm_forward(ctx, l->out, l->stats2, l->sum2, w[AOEI_LW_NORM2], w[AOEI_LW_NORM2_BIAS], c->norm_eps);
}

aoei_tensor aoei_encoder_hidden(const aoei_encoder_state *s, const aoei_encoder_config *c, size_t layer, size_t n_tokens) {
    assert(layer == 0 || s->mode.training || layer == c->layers);
    return aoei_tensor_rows(layer == 0 ? s->first : s->layers[layer - 1].out, 0, n_tokens);
}

aoei_tensor aoei_encoder_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                                 const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop) {
    if (c->ran.window)
        return aoei_ran_forward(ctx, c, w, batch, s, drop);
    const size_t n = batch->n_tokens;
    assert(n <= s->n_tokens && batch->n_texts <= s->n_texts && batch->longest <= s->longest);
    embedding_forward(ctx, c, w, batch, s, drop);
    aoei_tensor x = aoei_tensor_rows(s->first, 0, n);
    for (size_t l = 0; l < c->layers; l++) {
        const aoei_layer_state v = layer_rows(&s->layers[l], n);
        layer_forward(ctx, c, w + aoei_layer_slot(l, 0), batch, s, &v, x, drop, l);
        x = v.out;
    }
    return x;
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

/* The gradient behind a dropout as an operand: d itself when the site is off and nothing is to be rounded, else in `room`. */
static aoei_tensor through_dropout(const aoe_context *ctx, aoei_tensor room, aoei_tensor d, const aoei_batch *batch,
                                   const aoei_dropout *drop) {
    if (drop->p == 0 && room.type == d.type)
        return d;
    aoei_dropout_add(ctx, room, d, no_tensor(), batch, drop);
    return room;
}

/* Gradients of one linear layer of weights g (weight and bias): dx as asked for by the caller. */
static aoei_linear_grads linear_grads(const aoei_encoder_state *s, const aoei_tensor *g, aoei_tensor dx, int accumulate) {
    aoei_linear_grads l;
    memset(&l, 0, sizeof l);
    l.dx = dx;
    l.accumulate = accumulate;
    l.dw = g[0];
    l.db = g[1];
    l.room = s->room;
    return l;
}

/* On entry d is the gradient of the feed-forward sum's norm, on return that of `mid`. */
static void feed_forward_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                                  const aoei_tensor *g, const aoei_batch *batch, const aoei_encoder_state *s,
                                  const aoei_layer_state *l, aoei_tensor d, const aoei_dropout *drop) {
    const size_t n = batch->n_tokens;
    const aoei_tensor act = aoei_tensor_slice(s->wide, 0, n, c->intermediate); /* then its gradient */
    aoei_layernorm_backward(ctx, d, g[AOEI_LW_NORM2], g[AOEI_LW_NORM2_BIAS], d, l->sum2, l->stats2, w[AOEI_LW_NORM2]);
    const aoei_tensor ddown = through_dropout(ctx, aoei_tensor_rows(s->grad_b, 0, n), d, batch, drop);
    aoei_activation_forward(ctx, act, l->up, c->activation);
    aoei_linear_grads down = linear_grads(s, g + AOEI_LW_DOWN, act, 0);
    down.activation = c->activation;
    down.gate = l->up;
    aoei_linear_backward(ctx, &down, ddown, act, w[AOEI_LW_DOWN]);
    const aoei_linear_grads up = linear_grads(s, g + AOEI_LW_UP, d, 1);
    aoei_linear_backward(ctx, &up, act, l->mid, w[AOEI_LW_UP]);
}

/* On entry d is the gradient of `mid`, on return that of the layer's input x. */
static void attention_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_tensor *g,
                               const aoei_batch *batch, const aoei_encoder_state *s, const aoei_layer_state *l, aoei_tensor x,
                               aoei_tensor d, const aoei_dropout *drop, const aoei_attention *a) {
    const size_t n = batch->n_tokens, D = c->hidden;
    const aoei_tensor dheads = aoei_tensor_rows(s->grad_heads, 0, n), dqkv = aoei_tensor_slice(s->wide, 0, n, 3 * D);
    aoei_layernorm_backward(ctx, d, g[AOEI_LW_NORM1], g[AOEI_LW_NORM1_BIAS], d, l->sum1, l->stats1, w[AOEI_LW_NORM1]);
    const aoei_tensor dproj = through_dropout(ctx, aoei_tensor_rows(s->grad_b, 0, n), d, batch, drop);
    const aoei_linear_grads o = linear_grads(s, g + AOEI_LW_O, dheads, 0);
    aoei_linear_backward(ctx, &o, dproj, l->heads, w[AOEI_LW_O]);
    aoei_attention_backward(ctx, aoei_tensor_cols(dqkv, 0, D), aoei_tensor_cols(dqkv, D, D), aoei_tensor_cols(dqkv, 2 * D, D),
                            dheads, aoei_tensor_cols(l->qkv, 0, D), aoei_tensor_cols(l->qkv, D, D),
                            aoei_tensor_cols(l->qkv, 2 * D, D), batch, a, s->scratch);
    static const size_t slots[] = {AOEI_LW_Q, AOEI_LW_K, AOEI_LW_V};
    for (size_t i = 0; i < 3; i++) {
        const aoei_linear_grads in = linear_grads(s, g + slots[i], d, 1);
        aoei_linear_backward(ctx, &in, aoei_tensor_cols(dqkv, i * D, D), x, w[slots[i]]);
    }
}

/* On entry d (grad_a) is the gradient of the layer's output, on return that of its input x. */
static void layer_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_tensor *g,
                           const aoei_batch *batch, const aoei_encoder_state *s, const aoei_layer_state *l, aoei_tensor x,
                           const aoei_encoder_dropout *drop, size_t layer) {
    const aoei_tensor d = aoei_tensor_rows(s->grad_a, 0, batch->n_tokens);
    const double p = drop ? drop->hidden : 0;
    if (s->mode.recompute)
        layer_forward(ctx, c, w, batch, s, l, x, drop, layer);
    const aoei_dropout d2 = site_dropout(drop, p, aoei_site(layer, AOEI_SITE_FFN_OUTPUT));
    feed_forward_backward(ctx, c, w, g, batch, s, l, d, &d2);
    const aoei_dropout d1 = site_dropout(drop, p, aoei_site(layer, AOEI_SITE_ATTENTION_OUTPUT));
    const aoei_attention a = layer_attention(c, drop, layer);
    attention_backward(ctx, c, w, g, batch, s, l, x, d, &d1, &a);
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
    for (size_t l = c->layers; l-- > 0;) {
        const aoei_layer_state v = layer_rows(&s->layers[l], n);
        const size_t slot = aoei_layer_slot(l, 0);
        layer_backward(ctx, c, w + slot, grads + slot, batch, s, &v, aoei_encoder_hidden(s, c, l, n), drop, l);
    }
    if (with_first)
        aoei_add(ctx, d, d, aoei_tensor_rows(s->grad_first, 0, n));
    if (drop) {
        const aoei_dropout e = site_dropout(drop, drop->hidden, AOEI_SITE_EMBEDDING);
        aoei_dropout_add(ctx, d, d, no_tensor(), batch, &e);
    }
    if (!c->no_embed_norm)
        aoei_layernorm_backward(ctx, d, grads[AOEI_W_EMBED_NORM], grads[AOEI_W_EMBED_NORM_BIAS], d,
                                aoei_tensor_rows(s->embed_sum, 0, n), aoei_tensor_rows(s->embed_stats, 0, n),
                                w[AOEI_W_EMBED_NORM]);
    aoei_embedding_backward(ctx, grads[AOEI_W_WORD], grads[AOEI_W_POSITION], c->position_offset, grads[AOEI_W_TOKEN_TYPE], d,
                            batch);
}
