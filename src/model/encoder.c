/* SPDX-License-Identifier: MIT
 * The one encoder: BERT's post-norm transformer block (Devlin et al. 2019;
 * Hugging Face transformers, models/bert/modeling_bert.py), forward and backward
 * over packed tokens. It holds no arithmetic of its own: every step is an nn/ call.
 *
 *   first  = dropout(norm(word + position + token type))
 *   mid    = norm1(x + dropout(o(attention(q(x), k(x), v(x)))))
 *   out    = norm2(mid + dropout(down(gelu(up(mid)))))
 *
 * In training every layer keeps its activations; in inference all layers share
 * one set, and `out` doubles as the next layer's input.
 */
#include "model/encoder.h"

#include "base/error.h"

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

static void layer_layout(aoei_layer_state *l, const aoei_encoder_config *c, aoei_arena *arena, size_t n, int training) {
    l->qkv = aoei_tensor_take(arena, n, 3 * c->hidden);
    l->heads = aoei_tensor_take(arena, n, c->hidden);
    l->sum1 = aoei_tensor_take(arena, n, c->hidden);
    l->stats1 = training ? aoei_tensor_take(arena, n, 2) : no_tensor();
    l->mid = training ? aoei_tensor_take(arena, n, c->hidden) : l->sum1;
    l->up = aoei_tensor_take(arena, n, c->intermediate);
    l->act = aoei_tensor_take(arena, n, c->intermediate);
    l->out = aoei_tensor_take(arena, n, c->hidden);
    l->sum2 = training ? aoei_tensor_take(arena, n, c->hidden) : l->out;
    l->stats2 = training ? aoei_tensor_take(arena, n, 2) : no_tensor();
}

int aoei_encoder_layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena,
                        size_t n_tokens, size_t n_texts, size_t longest, int training, aoe_error *err) {
    memset(s, 0, sizeof *s);
    s->n_tokens = n_tokens;
    s->n_texts = n_texts;
    s->longest = longest;
    s->training = training;
    s->first = aoei_tensor_take(arena, n_tokens, c->hidden);
    s->layers = aoei_arena_take_array(arena, c->layers, sizeof *s->layers);
    aoei_layer_state shared;
    for (size_t l = 0; l < c->layers; l++) {
        if (training || l == 0)
            layer_layout(&shared, c, arena, n_tokens, training);
        if (s->layers)
            s->layers[l] = shared;
    }
    const aoei_attention a = attention_of(c);
    s->scratch = aoei_tensor_take(arena, 1, aoei_attention_scratch(ctx, &a, longest));
    if (training) {
        const size_t wide = c->intermediate > 3 * c->hidden ? c->intermediate : 3 * c->hidden;
        s->embed_sum = aoei_tensor_take(arena, n_tokens, c->hidden);
        s->embed_stats = aoei_tensor_take(arena, n_tokens, 2);
        s->grad_a = aoei_tensor_take(arena, n_tokens, c->hidden);
        s->grad_b = aoei_tensor_take(arena, n_tokens, c->hidden);
        s->grad_heads = aoei_tensor_take(arena, n_tokens, c->hidden);
        s->grad_wide = aoei_tensor_take(arena, n_tokens, wide);
        s->grad_first = aoei_tensor_take(arena, n_tokens, c->hidden);
    }
    if (arena->overflow)
        return aoei_fail(err, AOE_ENOMEM,
                         "activations of %zu tokens do not fit in memory; use a smaller --batch-tokens or --batch-size",
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
    v.up = aoei_tensor_rows(l->up, 0, n);
    v.act = aoei_tensor_rows(l->act, 0, n);
    v.sum2 = aoei_tensor_rows(l->sum2, 0, n);
    v.stats2 = l->stats2.rows ? aoei_tensor_rows(l->stats2, 0, n) : l->stats2;
    v.out = aoei_tensor_rows(l->out, 0, n);
    return v;
}

static void embedding_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                              const aoei_batch *batch, const aoei_encoder_state *s, const aoei_encoder_dropout *drop) {
    const size_t n = batch->n_tokens;
    const aoei_tensor first = aoei_tensor_rows(s->first, 0, n);
    const aoei_tensor sum = s->training ? aoei_tensor_rows(s->embed_sum, 0, n) : first;
    const aoei_tensor stats = s->training ? aoei_tensor_rows(s->embed_stats, 0, n) : no_tensor();
    aoei_embedding_forward(ctx, sum, w[AOEI_W_WORD], w[AOEI_W_POSITION], c->position_offset, w[AOEI_W_TOKEN_TYPE], batch);
    aoei_layernorm_forward(ctx, first, stats, sum, w[AOEI_W_EMBED_NORM], w[AOEI_W_EMBED_NORM_BIAS], c->norm_eps);
    if (drop) {
        const aoei_dropout d = site_dropout(drop, drop->hidden, AOEI_SITE_EMBEDDING);
        aoei_dropout_add(ctx, first, first, no_tensor(), batch, &d);
    }
}

static void layer_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_batch *batch,
                          const aoei_layer_state *l, aoei_tensor x, aoei_tensor scratch, const aoei_encoder_dropout *drop,
                          size_t layer) {
    const size_t D = c->hidden;
    const aoei_attention a = layer_attention(c, drop, layer);
    const aoei_tensor q = aoei_tensor_cols(l->qkv, 0, D), k = aoei_tensor_cols(l->qkv, D, D),
                      v = aoei_tensor_cols(l->qkv, 2 * D, D);
    aoei_linear_forward(ctx, q, x, w[AOEI_LW_Q], w[AOEI_LW_Q_BIAS]);
    aoei_linear_forward(ctx, k, x, w[AOEI_LW_K], w[AOEI_LW_K_BIAS]);
    aoei_linear_forward(ctx, v, x, w[AOEI_LW_V], w[AOEI_LW_V_BIAS]);
    aoei_attention_forward(ctx, l->heads, q, k, v, batch, &a, scratch);
    aoei_linear_forward(ctx, l->sum1, l->heads, w[AOEI_LW_O], w[AOEI_LW_O_BIAS]);
    const double p = drop ? drop->hidden : 0;
    const aoei_dropout d1 = site_dropout(drop, p, aoei_site(layer, AOEI_SITE_ATTENTION_OUTPUT));
    aoei_dropout_add(ctx, l->sum1, l->sum1, x, batch, &d1);
    aoei_layernorm_forward(ctx, l->mid, l->stats1, l->sum1, w[AOEI_LW_NORM1], w[AOEI_LW_NORM1_BIAS], c->norm_eps);
    aoei_linear_gelu_forward(ctx, l->act, l->up, l->mid, w[AOEI_LW_UP], w[AOEI_LW_UP_BIAS]);
    aoei_linear_forward(ctx, l->sum2, l->act, w[AOEI_LW_DOWN], w[AOEI_LW_DOWN_BIAS]);
    const aoei_dropout d2 = site_dropout(drop, p, aoei_site(layer, AOEI_SITE_FFN_OUTPUT));
    aoei_dropout_add(ctx, l->sum2, l->sum2, l->mid, batch, &d2);
    aoei_layernorm_forward(ctx, l->out, l->stats2, l->sum2, w[AOEI_LW_NORM2], w[AOEI_LW_NORM2_BIAS], c->norm_eps);
}

aoei_tensor aoei_encoder_hidden(const aoei_encoder_state *s, const aoei_encoder_config *c, size_t layer, size_t n_tokens) {
    assert(layer == 0 || s->training || layer == c->layers);
    return aoei_tensor_rows(layer == 0 ? s->first : s->layers[layer - 1].out, 0, n_tokens);
}

aoei_tensor aoei_encoder_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                                 const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop) {
    const size_t n = batch->n_tokens;
    assert(n <= s->n_tokens && batch->n_texts <= s->n_texts && batch->longest <= s->longest);
    embedding_forward(ctx, c, w, batch, s, drop);
    aoei_tensor x = aoei_tensor_rows(s->first, 0, n);
    for (size_t l = 0; l < c->layers; l++) {
        const aoei_layer_state v = layer_rows(&s->layers[l], n);
        layer_forward(ctx, c, w + aoei_layer_slot(l, 0), batch, &v, x, s->scratch, drop, l);
        x = v.out;
    }
    return x;
}

aoei_tensor aoei_encoder_grad_last(const aoei_encoder_state *s, size_t n_tokens) {
    return aoei_tensor_rows(s->grad_a, 0, n_tokens);
}

aoei_tensor aoei_encoder_grad_first(const aoei_encoder_state *s, size_t n_tokens) {
    return aoei_tensor_rows(s->grad_first, 0, n_tokens);
}

/* The gradient behind a dropout: d itself when the site is off, else the masked copy in `room`. */
static aoei_tensor through_dropout(const aoe_context *ctx, aoei_tensor room, aoei_tensor d, const aoei_batch *batch,
                                   const aoei_dropout *drop) {
    if (drop->p == 0)
        return d;
    aoei_dropout_add(ctx, room, d, no_tensor(), batch, drop);
    return room;
}

/* On entry d is the gradient of the layer's output, on return that of its input x. */
static void layer_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_tensor *g,
                           const aoei_batch *batch, const aoei_encoder_state *s, const aoei_layer_state *l, aoei_tensor x,
                           const aoei_encoder_dropout *drop, size_t layer) {
    const size_t n = batch->n_tokens, D = c->hidden;
    const aoei_tensor d = aoei_tensor_rows(s->grad_a, 0, n), room = aoei_tensor_rows(s->grad_b, 0, n);
    const aoei_tensor dact = aoei_tensor_slice(s->grad_wide, 0, n, c->intermediate);
    const aoei_tensor dheads = aoei_tensor_rows(s->grad_heads, 0, n);
    const aoei_tensor dqkv = aoei_tensor_slice(s->grad_wide, 0, n, 3 * D);
    const double p = drop ? drop->hidden : 0;

    aoei_layernorm_backward(ctx, d, g[AOEI_LW_NORM2], g[AOEI_LW_NORM2_BIAS], d, l->sum2, l->stats2, w[AOEI_LW_NORM2]);
    const aoei_dropout d2 = site_dropout(drop, p, aoei_site(layer, AOEI_SITE_FFN_OUTPUT));
    const aoei_tensor ddown = through_dropout(ctx, room, d, batch, &d2);
    aoei_linear_backward(ctx, dact, 0, g[AOEI_LW_DOWN], g[AOEI_LW_DOWN_BIAS], ddown, l->act, w[AOEI_LW_DOWN]);
    aoei_gelu_backward(ctx, dact, dact, l->up);
    aoei_linear_backward(ctx, d, 1, g[AOEI_LW_UP], g[AOEI_LW_UP_BIAS], dact, l->mid, w[AOEI_LW_UP]);

    aoei_layernorm_backward(ctx, d, g[AOEI_LW_NORM1], g[AOEI_LW_NORM1_BIAS], d, l->sum1, l->stats1, w[AOEI_LW_NORM1]);
    const aoei_dropout d1 = site_dropout(drop, p, aoei_site(layer, AOEI_SITE_ATTENTION_OUTPUT));
    const aoei_tensor dproj = through_dropout(ctx, room, d, batch, &d1);
    aoei_linear_backward(ctx, dheads, 0, g[AOEI_LW_O], g[AOEI_LW_O_BIAS], dproj, l->heads, w[AOEI_LW_O]);
    const aoei_attention a = layer_attention(c, drop, layer);
    const aoei_tensor q = aoei_tensor_cols(l->qkv, 0, D), k = aoei_tensor_cols(l->qkv, D, D),
                      v = aoei_tensor_cols(l->qkv, 2 * D, D);
    const aoei_tensor dq = aoei_tensor_cols(dqkv, 0, D), dk = aoei_tensor_cols(dqkv, D, D),
                      dv = aoei_tensor_cols(dqkv, 2 * D, D);
    aoei_attention_backward(ctx, dq, dk, dv, dheads, q, k, v, batch, &a, s->scratch);
    aoei_linear_backward(ctx, d, 1, g[AOEI_LW_Q], g[AOEI_LW_Q_BIAS], dq, x, w[AOEI_LW_Q]);
    aoei_linear_backward(ctx, d, 1, g[AOEI_LW_K], g[AOEI_LW_K_BIAS], dk, x, w[AOEI_LW_K]);
    aoei_linear_backward(ctx, d, 1, g[AOEI_LW_V], g[AOEI_LW_V_BIAS], dv, x, w[AOEI_LW_V]);
}

void aoei_encoder_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_tensor *grads,
                           const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop, int with_first) {
    const size_t n = batch->n_tokens;
    const aoei_tensor d = aoei_tensor_rows(s->grad_a, 0, n);
    assert(s->training);
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
    aoei_layernorm_backward(ctx, d, grads[AOEI_W_EMBED_NORM], grads[AOEI_W_EMBED_NORM_BIAS], d,
                            aoei_tensor_rows(s->embed_sum, 0, n), aoei_tensor_rows(s->embed_stats, 0, n), w[AOEI_W_EMBED_NORM]);
    aoei_embedding_backward(ctx, grads[AOEI_W_WORD], grads[AOEI_W_POSITION], c->position_offset, grads[AOEI_W_TOKEN_TYPE], d,
                            batch);
}
