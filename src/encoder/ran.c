/* SPDX-License-Identifier: MIT
 * The recurrent encoder's layout, the embedding before its layers, the layers one after the other, and the pooling of
 * cells. ran_layer.c and ran_backward.c are one layer. In training every tensor that backward reads is kept, or with
 * recomputation a layer's output and cells alone; in inference all layers share one set, of as many rows as a round has.
 */
#include "encoder/ran.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "nn/attention.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/elementwise.h"
#include "nn/embedding.h"
#include "nn/layernorm.h"
#include "nn/linear.h"
#include "nn/pooling.h"
#include "nn/ran_ops.h"
#include "nn/uncentred_norm.h"

#define ROUND_ROWS    ((size_t)4096) /* of a round in inference: enough for products to run at speed */
#define ROTATION_BASE 10000.0

aoei_ran_limits aoei_ran_limits_of(const aoei_encoder_config *c, int training) {
    return (aoei_ran_limits){.window = c->ran.window, .least = c->ran.least_window, .rows = training ? SIZE_MAX : ROUND_ROWS};
}

void aoei_ran_norm_backward(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor dx, aoei_tensor dgamma,
                            aoei_tensor dbeta, aoei_tensor dy, aoei_tensor x, aoei_tensor stats, aoei_tensor gamma) {
    (c->ran.langml_norm ? aoei_uncentred_norm_backward : aoei_layernorm_backward)(ctx, dx, dgamma, dbeta, dy, x, stats, gamma);
}

/* Bounds of a layout. */
typedef struct sizes {
    size_t N, texts, C, M; /* M: rows of a round */
    size_t cells;          /* rows of cells that are kept or in work */
    size_t block;          /* tokens that memory review makes at once */
    size_t D, H, window_rows;
    aoei_dtype type;
    int training;
} sizes;

static sizes sizes_of(const aoei_encoder_config *c, size_t n_tokens, size_t n_texts, size_t longest, aoei_encoder_mode mode) {
    const aoei_ran_limits l = aoei_ran_limits_of(c, mode.training);
    sizes z = {.N = n_tokens,
               .texts = n_texts,
               .C = aoei_ran_most_windows(&l, n_tokens, n_texts),
               .M = aoei_ran_round_rows(&l, n_tokens, n_texts, longest),
               .D = c->hidden,
               .H = c->heads * c->ran.head_size,
               .window_rows = aoei_ran_window_rows(&l, longest),
               .type = mode.type,
               .training = mode.training};
    const size_t step = z.M / 2 < n_texts ? z.M / 2 : n_texts;
    z.cells = mode.training ? z.C : step;
    z.block = l.rows < n_tokens ? l.rows : n_tokens;
    return z;
}

static aoei_tensor take(aoei_arena *a, const sizes *z, size_t rows, size_t cols) {
    return aoei_tensor_take_typed(a, z->type, rows, cols);
}

/* In inference norms and sums are made in place, and swish, too. */
static aoei_ran_rows rows_layout(const sizes *z, aoei_arena *a, size_t n) {
    aoei_ran_rows r = {.in = take(a, z, n, z->D),
                       .pre = take(a, z, n, 3 * z->H),
                       .heads = take(a, z, n, z->H),
                       .o = take(a, z, n, z->D),
                       .glu = take(a, z, n, 2 * z->D)};
    r.z = r.in;
    r.qkv = r.pre;
    r.sum = r.unit = r.o;
    if (!z->training)
        return r;
    r.in_stats = aoei_tensor_take(a, n, 2);
    r.z = take(a, z, n, z->D);
    r.sum = take(a, z, n, z->D);
    r.sum_stats = aoei_tensor_take(a, n, 2);
    r.unit = take(a, z, n, z->D);
    r.unit_stats = aoei_tensor_take(a, n, 2);
    return r;
}

/* A layer but for `out`, `tokens` and `after`. */
static aoei_ran_layer layer_layout(const sizes *z, aoei_arena *a) {
    const size_t D = z->D;
    aoei_ran_layer l = {.rows = rows_layout(z, a, z->M),
                        .cells = rows_layout(z, a, z->cells),
                        .g = take(a, z, z->C, D),
                        .before = take(a, z, z->cells, D),
                        .carry_glu = take(a, z, z->cells, 2 * D),
                        .carry = take(a, z, z->cells, D),
                        .s = take(a, z, z->C, D),
                        .q_pre = take(a, z, z->block, D),
                        .kv_pre = take(a, z, z->C, 2 * D),
                        .review = take(a, z, z->block, D),
                        .review_o = take(a, z, z->block, D),
                        .review_glu = take(a, z, z->block, 2 * D)};
    l.review_sum = l.review_o;
    if (!z->training)
        return l;
    l.carry_stats = aoei_tensor_take(a, z->C, 2);
    l.tokens = take(a, z, z->N, D);
    l.review_sum = take(a, z, z->block, D);
    l.review_stats = aoei_tensor_take(a, z->block, 2);
    return l;
}

static void layers_layout(aoei_encoder_state *s, const aoei_encoder_config *c, const sizes *z, aoei_arena *a) {
    const int own = z->training && !s->mode.recompute;
    aoei_ran_layer layer;
    aoei_tensor out = {0}, after[2] = {{0}};
    s->layers = aoei_arena_take_array(a, c->layers, sizeof *s->layers);
    s->ran.layers = aoei_arena_take_array(a, c->layers, sizeof *s->ran.layers);
    s->ran.n_layers = c->layers;
    for (size_t l = 0; l < c->layers; l++) {
        if (own || l == 0)
            layer = layer_layout(z, a);
        if (z->training || l == 0)
            out = take(a, z, z->N, z->D);
        if (z->training || l < 2)
            after[l % 2] = take(a, z, z->C, z->D);
        layer.out = out;
        layer.after = after[l % 2];
        if (!z->training)
            layer.tokens = out;
        if (!s->layers || !s->ran.layers)
            continue;
        s->layers[l] = (aoei_layer_state){.out = out};
        s->ran.layers[l] = layer;
    }
}

static aoei_ran_grads grads_layout(const sizes *z, aoei_arena *a, size_t n) {
    return (aoei_ran_grads){.unit = aoei_tensor_take(a, n, z->D),
                            .sum = aoei_tensor_take(a, n, z->D),
                            .o = take(a, z, n, z->D),
                            .glu = take(a, z, n, 2 * z->D),
                            .heads = take(a, z, n, z->H),
                            .qkv = aoei_tensor_take(a, n, 3 * z->H),
                            .pre = take(a, z, n, 3 * z->H)};
}

/* What only backward needs. */
static void gradients_layout(aoei_encoder_state *s, const aoe_context *ctx, const sizes *z, aoei_arena *a) {
    aoei_ran_state *r = &s->ran;
    const size_t D = z->D, C = z->C;
    s->embed_sum = take(a, z, z->N, D);
    s->embed_stats = aoei_tensor_take(a, z->N, 2);
    s->grad_a = aoei_tensor_take(a, z->N, D);
    s->grad_first = aoei_tensor_take(a, z->N, D);
    r->d = grads_layout(z, a, z->M);
    r->d_cells = grads_layout(z, a, C);
    aoei_tensor *const by_cell[] = {&r->d_g, &r->d_after, &r->d_carry, &r->d_s, &r->later_d, &r->pool_cells};
    for (size_t i = 0; i < sizeof by_cell / sizeof *by_cell; i++)
        *by_cell[i] = aoei_tensor_take(a, C, D);
    r->d_carry_glu = take(a, z, C, 2 * D);
    r->d_first = aoei_tensor_take(a, z->texts, D);
    r->pool_last = aoei_tensor_take(a, z->texts, D);
    r->d_review = take(a, z, z->N, D);
    r->d_review_kv = aoei_tensor_take(a, C, 2 * D);
    r->d_kv_pre = take(a, z, C, 2 * D);
    r->later_a = take(a, z, C, D);
    r->later_glu = take(a, z, C, 2 * D);
    r->later_stats = aoei_tensor_take(a, C, 2);
    const size_t shapes[][2] = {{D, D}, {z->H, D}, {D, z->H}};
    size_t most = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const size_t bytes = aoei_linear_room(ctx, z->type, z->M, shapes[i][0], shapes[i][1]);
        most = bytes > most ? bytes : most;
    }
    r->room = aoei_room_take(a, most);
}

/* What the layers work in, one after the other. */
static void work_layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, const sizes *z,
                        aoei_arena *a) {
    aoei_ran_state *r = &s->ran;
    const aoei_ran_limits l = aoei_ran_limits_of(c, z->training);
    const aoei_attention window = {.heads = c->heads, .kv_heads = c->heads, .head_dim = c->ran.head_size},
                         review = {.heads = 1, .kv_heads = 1, .head_dim = z->D};
    const size_t windows = aoei_ran_window_count(&l, s->longest);
    const size_t in_window = aoei_attention_spans_scratch(ctx, &window, z->type, z->window_rows, z->window_rows),
                 in_review = aoei_attention_spans_scratch(ctx, &review, z->type, s->longest, windows);
    r->scratch = aoei_room_take(a, in_window > in_review ? in_window : in_review);
    r->ones = aoei_tensor_take(a, 1, z->D);
    r->zeros = aoei_tensor_take(a, 1, z->D);
    r->host = aoei_arena_take_array(a, z->D, sizeof *r->host);
    r->table = aoei_tensor_take(a, z->window_rows, c->ran.head_size);
    r->review_kv = take(a, z, z->C, 2 * z->D);
    r->review_q = take(a, z, z->block, z->D);
    r->result = take(a, z, z->M, z->D);
    if (!z->training)
        return;
    const aoei_tensor rows = take(a, z, z->M, 3 * z->H), cells = take(a, z, z->C, 3 * z->H);
    for (size_t i = 0; i < r->n_layers && r->layers; i++) {
        r->layers[i].rows.qkv = rows;
        r->layers[i].cells.qkv = cells;
    }
}

int aoei_ran_layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena,
                    size_t n_tokens, size_t n_texts, size_t longest, aoei_encoder_mode mode, aoe_error *err) {
    memset(s, 0, sizeof *s);
    s->n_tokens = n_tokens;
    s->n_texts = n_texts;
    s->longest = longest;
    s->mode = mode;
    const sizes z = sizes_of(c, n_tokens, n_texts, longest, mode);
    const size_t before = arena->used;
    s->first = take(arena, &z, n_tokens, z.D);
    layers_layout(s, c, &z, arena);
    s->kept_bytes = arena->used - before;
    const aoei_ran_limits l = aoei_ran_limits_of(c, mode.training);
    aoei_ran_windows_layout(&s->ran.windows, &l, arena, n_tokens, n_texts);
    work_layout(s, ctx, c, &z, arena);
    if (mode.training)
        gradients_layout(s, ctx, &z, arena);
    if (arena->overflow)
        return aoei_fail(err, AOE_ENOMEM,
                         "activations of %zu tokens do not fit in memory; use a smaller --batch-tokens, --batch-size or "
                         "--cache-chunk",
                         n_tokens);
    return AOE_OK;
}

/* The layer's tensors in the batch's sizes; in inference most of them are a round's or a step's, and stay. */
static aoei_ran_layer layer_part(const aoei_ran_layer *l, size_t N, size_t C, int training) {
    aoei_ran_layer v = *l;
    v.g = aoei_tensor_rows(l->g, 0, C);
    v.s = aoei_tensor_rows(l->s, 0, C);
    v.after = aoei_tensor_rows(l->after, 0, C);
    v.kv_pre = aoei_tensor_rows(l->kv_pre, 0, C);
    v.tokens = aoei_tensor_rows(l->tokens, 0, N);
    v.out = aoei_tensor_rows(l->out, 0, N);
    if (!training)
        return v;
    v.rows = aoei_ran_rows_part(&l->rows, 0, N + C);
    v.cells = aoei_ran_rows_part(&l->cells, 0, C);
    aoei_tensor *const by_cell[] = {&v.before, &v.carry_glu, &v.carry, &v.carry_stats};
    for (size_t i = 0; i < sizeof by_cell / sizeof *by_cell; i++)
        *by_cell[i] = aoei_tensor_rows(*by_cell[i], 0, C);
    aoei_tensor *const by_token[] = {&v.q_pre, &v.review, &v.review_o, &v.review_glu, &v.review_sum, &v.review_stats};
    for (size_t i = 0; i < sizeof by_token / sizeof *by_token; i++)
        *by_token[i] = aoei_tensor_rows(*by_token[i], 0, N);
    return v;
}

aoei_ran_pass aoei_ran_pass_of(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                               const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop, size_t layer) {
    aoei_ran_pass p = {.ctx = ctx,
                       .c = c,
                       .w = w + aoei_slot_of_layer(c, layer, 0),
                       .batch = batch,
                       .s = s,
                       .drop = drop,
                       .layer = layer,
                       .N = batch->n_tokens,
                       .C = s->ran.windows.n,
                       .D = c->hidden,
                       .H = c->heads * c->ran.head_size};
    p.l = layer_part(&s->ran.layers[layer], p.N, p.C, s->mode.training);
    if (layer)
        p.cells_from = aoei_tensor_rows(s->ran.layers[layer - 1].after, 0, p.C);
    return p;
}

static aoei_dropout embedding_dropout(const aoei_encoder_dropout *drop) {
    return (aoei_dropout){.p = drop->hidden, .key = {drop->key[0], drop->key[1]}, .site = AOEI_SITE_EMBEDDING};
}

static void embedding_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                              const aoei_batch *batch, const aoei_encoder_state *s, const aoei_encoder_dropout *drop) {
    const size_t n = batch->n_tokens;
    const aoei_tensor none = {0}, first = aoei_tensor_rows(s->first, 0, n);
    const aoei_tensor sum = s->mode.training ? aoei_tensor_rows(s->embed_sum, 0, n) : first;
    aoei_embedding_forward(ctx, sum, w[AOEI_W_WORD], none, 0, none, batch);
    aoei_ran_norm_forward(ctx, c, first, aoei_ran_part(s->embed_stats, 0, n), sum, w[AOEI_W_EMBED_NORM],
                          w[AOEI_W_EMBED_NORM_BIAS]);
    if (drop) {
        const aoei_dropout d = embedding_dropout(drop);
        aoei_dropout_add(ctx, first, first, none, batch, &d);
    }
}

/* The norm without weights, and the rotation of the positions that there are. */
static void make_constants(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_batch *batch,
                           const aoei_ran_state *r) {
    const aoei_ran_limits l = aoei_ran_limits_of(c, 0);
    for (size_t i = 0; i < r->ones.cols; i++)
        r->host[i] = 1;
    aoei_tensor_write(ctx, r->ones, r->host);
    aoei_tensor_zero(ctx, r->zeros);
    aoei_rotation_table(ctx, aoei_tensor_rows(r->table, 0, aoei_ran_window_rows(&l, batch->longest)), ROTATION_BASE);
}

aoei_tensor aoei_ran_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                             const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop) {
    const size_t n = batch->n_tokens;
    const aoei_ran_limits limits = aoei_ran_limits_of(c, s->mode.training);
    assert(n <= s->n_tokens && batch->n_texts <= s->n_texts && batch->longest <= s->longest);
    aoei_ran_windows_fill(&s->ran.windows, &limits, batch);
    make_constants(ctx, c, batch, &s->ran);
    embedding_forward(ctx, c, w, batch, s, drop);
    aoei_tensor x = aoei_tensor_rows(s->first, 0, n);
    for (size_t l = 0; l < c->layers; l++) {
        aoei_ran_pass p = aoei_ran_pass_of(ctx, c, w, batch, s, drop, l);
        aoei_ran_layer_forward(&p, x);
        x = p.l.out;
    }
    return x;
}

void aoei_ran_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_tensor *grads,
                       const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop, int with_first) {
    const size_t n = batch->n_tokens;
    const aoei_tensor none = {0}, d = aoei_tensor_rows(s->grad_a, 0, n);
    assert(s->mode.training);
    for (size_t l = c->layers; l-- > 0;) {
        aoei_ran_pass p = aoei_ran_pass_of(ctx, c, w, batch, s, drop, l);
        p.g = grads + aoei_slot_of_layer(c, l, 0);
        aoei_ran_layer_backward(&p, aoei_encoder_hidden(s, c, l, n), d);
    }
    s->ran.pooled_cells = 0;
    if (with_first)
        aoei_add(ctx, d, d, aoei_tensor_rows(s->grad_first, 0, n));
    if (drop) {
        const aoei_dropout e = embedding_dropout(drop);
        aoei_dropout_add(ctx, d, d, none, batch, &e);
    }
    aoei_ran_norm_backward(ctx, c, d, grads[AOEI_W_EMBED_NORM], grads[AOEI_W_EMBED_NORM_BIAS], d,
                           aoei_tensor_rows(s->embed_sum, 0, n), aoei_tensor_rows(s->embed_stats, 0, n), w[AOEI_W_EMBED_NORM]);
    aoei_embedding_backward(ctx, grads[AOEI_W_WORD], none, 0, none, d, batch);
}

/* The texts' cells as a batch for the poolings of tokens. */
static aoei_batch cell_batch(const aoei_ran_windows *w) {
    return (aoei_batch){.n_tokens = w->n, .n_texts = w->n_texts, .offsets = w->text_first};
}

void aoei_ran_pool_forward(const aoe_context *ctx, aoei_tensor out, aoe_pooling pooling, const aoei_batch *batch,
                           const aoei_encoder_state *s) {
    const aoei_ran_state *r = &s->ran;
    const aoei_ran_layer *l = &r->layers[r->n_layers - 1];
    const aoei_tensor none = {0}, cells = aoei_tensor_rows(l->s, 0, r->windows.n);
    assert(batch->n_texts == r->windows.n_texts);
    const aoei_batch b = cell_batch(&r->windows);
    if (pooling == AOE_POOLING_CELL_LAST)
        for (size_t i = 0; i < batch->n_texts; i++)
            aoei_tensor_copy(ctx, aoei_tensor_rows(out, i, 1), aoei_tensor_rows(l->after, r->windows.last[i], 1));
    else
        aoei_pool_forward(ctx, out, pooling == AOE_POOLING_CELL_MAX ? AOE_POOLING_LAST_MAX : AOE_POOLING_LAST_AVG, none, cells,
                          &b);
}

void aoei_ran_pool_backward(const aoe_context *ctx, aoe_pooling pooling, aoei_tensor dout, const aoei_batch *batch,
                            aoei_encoder_state *s) {
    aoei_ran_state *r = &s->ran;
    const size_t C = r->windows.n;
    const aoei_tensor none = {0}, d_cells = aoei_tensor_rows(r->pool_cells, 0, C),
                      d_last = aoei_tensor_rows(r->pool_last, 0, batch->n_texts);
    const aoei_batch b = cell_batch(&r->windows);
    aoei_tensor_zero(ctx, d_cells);
    aoei_tensor_zero(ctx, d_last);
    if (pooling == AOE_POOLING_CELL_LAST)
        aoei_tensor_copy(ctx, d_last, dout);
    else
        aoei_pool_backward(ctx, none, d_cells, pooling == AOE_POOLING_CELL_MAX ? AOE_POOLING_LAST_MAX : AOE_POOLING_LAST_AVG,
                           dout, aoei_tensor_rows(r->layers[r->n_layers - 1].s, 0, C), &b);
    aoei_tensor_zero(ctx, aoei_tensor_rows(s->grad_a, 0, batch->n_tokens));
    r->pooled_cells = 1;
}
