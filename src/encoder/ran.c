/* SPDX-License-Identifier: MIT
 * The encoder of recurrent attention networks (RAN): memory layout, embedding, loop over the layers, and pooling of
 * cells. In training, all tensors that the backward pass reads are kept. With recomputation, only the output and the
 * cells of each layer are kept. In inference, all layers use one set of tensors, which has enough rows for one round, a
 * set of windows that are processed at once (ran_windows.h).
 */
#include "encoder/ran.h"

#include <assert.h>
#include <string.h>

#include "encoder/ran_layer.h"
#include "encoder/ran_layer_backward.h"
#include "encoder/slots.h"
#include "encoder/token_pooling.h"
#include "nn/attention.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/elementwise.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/pooling.h"
#include "nn/ran_ops.h"
#include "nn/tensor.h"

#define ROTATION_BASE 10000.0 /* base of the rotary position embeddings */

/* Sizes from which the shapes of all tensors are computed. */
typedef struct sizes {
    size_t N, texts, C; /* maximum sizes of a batch: number of tokens; number of texts; number of windows */
    size_t M;           /* maximum number of rows in a round */
    size_t cells; /* number of rows of tensors with one row per cell: in training, all cells of a batch; in inference,
                     the cells of one step */
    size_t block; /* number of tokens that memory review processes at a time */
    size_t D, H, window_rows; /* hidden size; heads * head_size; maximum number of rows in a window */
    aoei_dtype type;
    int training;
} sizes;

static sizes sizes_of(const aoei_encoder_config *c, const aoei_encoder_state *s) {
    const aoei_ran_limits l = aoei_ran_limits_of(c, s->mode.training);
    sizes z = {.N = s->n_tokens,
               .texts = s->n_texts,
               .C = aoei_ran_max_windows(&l, s->n_tokens, s->n_texts),
               .M = aoei_ran_round_rows(&l, s->n_tokens, s->n_texts, s->longest),
               .D = c->hidden,
               .H = c->heads * c->ran.head_size,
               .window_rows = aoei_ran_window_rows(&l, s->longest),
               .type = s->mode.type,
               .training = s->mode.training};
    const size_t step = z.M / 2 < z.texts ? z.M / 2 : z.texts;
    z.cells = z.training ? z.C : step;
    z.block = l.rows < z.N ? l.rows : z.N;
    return z;
}

static aoei_tensor take(aoei_arena *a, const sizes *z, size_t rows, size_t cols) {
    return aoei_tensor_take_typed(a, z->type, rows, cols);
}

/* Allocates the activations of n rows (tokens and cells). In inference, the outputs of norms, sums and swish overwrite
 * their inputs. */
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

/* Allocates the tensors of a layer. The caller allocates `out`, `after` and, in inference, `tokens`. */
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

/* Allocates the tensors of all layers. In inference, and in training with recomputation, all layers use the same
 * tensors for intermediate results. In inference, all layers also use one output tensor. */
static void layers_layout(aoei_ran_state *r, aoei_encoder_state *s, const aoei_encoder_config *c, const sizes *z,
                          aoei_arena *a) {
    const int own = z->training && !s->mode.recompute;
    aoei_ran_layer layer;
    aoei_tensor out = take(a, z, z->N, z->D), after[2] = {{0}};
    if (s->hidden)
        s->hidden[0] = out;
    r->layers = aoei_arena_take_array(a, c->layers, sizeof *r->layers);
    r->n_layers = c->layers;
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
        if (s->hidden)
            s->hidden[l + 1] = out;
        if (r->layers)
            r->layers[l] = layer;
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

/* Allocates the tensors that only the backward pass needs. */
static void gradients_layout(aoei_ran_state *r, aoei_encoder_state *s, const aoe_context *ctx, const sizes *z,
                             aoei_arena *a) {
    const size_t D = z->D, C = z->C;
    r->embed_sum = take(a, z, z->N, D);
    r->embed_stats = aoei_tensor_take(a, z->N, 2);
    s->grad_last = aoei_tensor_take(a, z->N, D);
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
        const size_t bytes = aoei_linear_workspace(ctx, z->type, z->M, shapes[i][0], shapes[i][1]);
        most = bytes > most ? bytes : most;
    }
    r->workspace = aoei_workspace_take(a, most);
}

/* Allocates the tensors that all layers use. */
static void work_layout(aoei_ran_state *r, const aoei_encoder_state *s, const aoe_context *ctx,
                        const aoei_encoder_config *c, const sizes *z, aoei_arena *a) {
    const aoei_ran_limits l = aoei_ran_limits_of(c, z->training);
    const aoei_attention window = {.heads = c->heads, .kv_heads = c->heads, .head_dim = c->ran.head_size},
                         review = {.heads = 1, .kv_heads = 1, .head_dim = z->D};
    const size_t windows = aoei_ran_window_count(&l, s->longest);
    const size_t in_window = aoei_attention_spans_scratch(ctx, &window, z->type, z->window_rows, z->window_rows),
                 in_review = aoei_attention_spans_scratch(ctx, &review, z->type, s->longest, windows);
    r->scratch = aoei_workspace_take(a, in_window > in_review ? in_window : in_review);
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

static void layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena) {
    aoei_ran_state r = {0};
    const sizes z = sizes_of(c, s);
    const aoei_ran_limits l = aoei_ran_limits_of(c, s->mode.training);
    const size_t before = arena->used;
    layers_layout(&r, s, c, &z, arena);
    s->kept_bytes = arena->used - before;
    aoei_ran_windows_layout(&r.windows, &l, arena, s->n_tokens, s->n_texts);
    work_layout(&r, s, ctx, c, &z, arena);
    if (s->mode.training)
        gradients_layout(&r, s, ctx, &z, arena);
    s->own = aoei_arena_take(arena, sizeof r);
    if (s->own)
        memcpy(s->own, &r, sizeof r);
}

static aoei_dropout embedding_dropout(const aoei_encoder_dropout *drop) {
    return (aoei_dropout){.p = drop->hidden, .key = {drop->key[0], drop->key[1]}, .site = AOEI_SITE_EMBEDDING};
}

static void embedding_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                              const aoei_batch *batch, const aoei_encoder_state *s, const aoei_encoder_dropout *drop) {
    const size_t n = batch->n_tokens;
    const aoei_ran_state *r = s->own;
    const aoei_tensor none = {0}, first = aoei_tensor_rows(s->hidden[0], 0, n);
    const aoei_tensor sum = s->mode.training ? aoei_tensor_rows(r->embed_sum, 0, n) : first;
    aoei_embedding_forward(ctx, sum, w[AOEI_W_WORD], none, 0, none, batch);
    aoei_ran_norm_forward(ctx, c, first, aoei_ran_part(r->embed_stats, 0, n), sum, w[AOEI_W_EMBED_NORM],
                          w[AOEI_W_EMBED_NORM_BIAS]);
    if (drop) {
        const aoei_dropout d = embedding_dropout(drop);
        aoei_dropout_add(ctx, first, first, none, batch, &d);
    }
}

/* Fills the tensors with constant values: r->ones and r->zeros, which are the weight and the bias of the norm without
 * trained weights, and r->table, the cosines and sines for all positions in a window. */
static void make_constants(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_batch *batch,
                           const aoei_ran_state *r) {
    const aoei_ran_limits l = aoei_ran_limits_of(c, 0);
    for (size_t i = 0; i < r->ones.cols; i++)
        r->host[i] = 1;
    aoei_tensor_write(ctx, r->ones, r->host);
    aoei_tensor_zero(ctx, r->zeros);
    aoei_rotation_table(ctx, aoei_tensor_rows(r->table, 0, aoei_ran_window_rows(&l, batch->longest)), ROTATION_BASE);
}

static void forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_batch *batch,
                    aoei_encoder_state *s, const aoei_encoder_dropout *drop) {
    aoei_ran_state *r = s->own;
    const aoei_ran_limits limits = aoei_ran_limits_of(c, s->mode.training);
    aoei_ran_windows_fill(&r->windows, &limits, batch);
    make_constants(ctx, c, batch, r);
    embedding_forward(ctx, c, w, batch, s, drop);
    for (size_t l = 0; l < c->layers; l++) {
        aoei_ran_pass p = aoei_ran_pass_of(ctx, c, w, batch, s, drop, l);
        aoei_ran_layer_forward(&p, aoei_tensor_rows(s->hidden[l], 0, batch->n_tokens));
    }
}

static void backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                     const aoei_tensor *grads, const aoei_batch *batch, aoei_encoder_state *s,
                     const aoei_encoder_dropout *drop, int with_first) {
    const size_t n = batch->n_tokens;
    aoei_ran_state *r = s->own;
    const aoei_tensor none = {0}, d = aoei_tensor_rows(s->grad_last, 0, n);
    for (size_t l = c->layers; l-- > 0;) {
        aoei_ran_pass p = aoei_ran_pass_of(ctx, c, w, batch, s, drop, l);
        p.g = grads + aoei_slot_of_layer(c, l, 0);
        aoei_ran_layer_backward(&p, aoei_tensor_rows(s->hidden[l], 0, n), d);
    }
    r->pooled_cells = 0;
    if (with_first)
        aoei_add(ctx, d, d, aoei_tensor_rows(s->grad_first, 0, n));
    if (drop) {
        const aoei_dropout e = embedding_dropout(drop);
        aoei_dropout_add(ctx, d, d, none, batch, &e);
    }
    aoei_ran_norm_backward(ctx, c, d, grads[AOEI_W_EMBED_NORM], grads[AOEI_W_EMBED_NORM_BIAS], d,
                           aoei_tensor_rows(r->embed_sum, 0, n), aoei_tensor_rows(r->embed_stats, 0, n),
                           w[AOEI_W_EMBED_NORM]);
    aoei_embedding_backward(ctx, grads[AOEI_W_WORD], none, 0, none, d, batch);
}

/* Returns a batch whose tokens are the cells, so that a pooling over tokens computes the pooling over cells. */
static aoei_batch cell_batch(const aoei_ran_windows *w) {
    return (aoei_batch){.n_tokens = w->n, .n_texts = w->n_texts, .offsets = w->text_first};
}

/* Returns the pooling over tokens that is equivalent to `pooling`, a pooling over cells, if the input is the batch of
 * cells. */
static aoe_pooling over_tokens(aoe_pooling pooling) {
    return pooling == AOE_POOLING_CELL_MAX ? AOE_POOLING_LAST_MAX : AOE_POOLING_LAST_AVG;
}

static void pool(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor out, aoe_pooling pooling,
                 aoei_tensor last, const aoei_batch *batch, const aoei_encoder_state *s) {
    if (aoei_pooling_over_tokens(pooling)) {
        aoei_token_pool(ctx, c, out, pooling, last, batch, s);
        return;
    }
    const aoei_ran_state *r = s->own;
    const aoei_ran_layer *l = &r->layers[r->n_layers - 1];
    const aoei_tensor none = {0}, cells = aoei_tensor_rows(l->s, 0, r->windows.n);
    const aoei_batch b = cell_batch(&r->windows);
    assert(batch->n_texts == r->windows.n_texts);
    if (pooling == AOE_POOLING_CELL_LAST)
        for (size_t i = 0; i < batch->n_texts; i++)
            aoei_tensor_copy(ctx, aoei_tensor_rows(out, i, 1), aoei_tensor_rows(l->after, r->windows.last[i], 1));
    else
        aoei_pool_forward(ctx, out, over_tokens(pooling), none, cells, &b);
}

/* Computes the gradients from which the backward pass starts. For a pooling over cells, these are the gradients of the
 * cells of the last layer, and the gradient of the last hidden state is set to 0. */
static int pool_backward(const aoe_context *ctx, const aoei_encoder_config *c, aoe_pooling pooling, aoei_tensor dout,
                         aoei_tensor last, const aoei_batch *batch, aoei_encoder_state *s) {
    if (aoei_pooling_over_tokens(pooling))
        return aoei_token_pool_backward(ctx, c, pooling, dout, last, batch, s);
    aoei_ran_state *r = s->own;
    const size_t C = r->windows.n;
    const aoei_tensor none = {0}, d_cells = aoei_tensor_rows(r->pool_cells, 0, C),
                      d_last = aoei_tensor_rows(r->pool_last, 0, batch->n_texts);
    const aoei_batch b = cell_batch(&r->windows);
    aoei_tensor_zero(ctx, d_cells);
    aoei_tensor_zero(ctx, d_last);
    if (pooling == AOE_POOLING_CELL_LAST)
        aoei_tensor_copy(ctx, d_last, dout);
    else
        aoei_pool_backward(ctx, none, d_cells, over_tokens(pooling), dout,
                           aoei_tensor_rows(r->layers[r->n_layers - 1].s, 0, C), &b);
    aoei_tensor_zero(ctx, aoei_tensor_rows(s->grad_last, 0, batch->n_tokens));
    r->pooled_cells = 1;
    return 0;
}

/* The first line of the sum counts the operations for the rows of tokens and cells: the linear layers of query, key,
 * value, output and gated linear unit, and the attention within windows. The second line counts the linear layers of
 * memory review, the gated linear unit between adjacent cells, and the attention of memory review. */
static double layer_operations(const aoei_encoder_config *c, size_t tokens) {
    const aoei_ran_limits limits = aoei_ran_limits_of(c, 0);
    const double D = (double)c->hidden, H = (double)(c->heads * c->ran.head_size);
    const size_t windows = aoei_ran_window_count(&limits, tokens), tail = tokens - (windows - 1) * c->ran.window;
    const double n = (double)tokens, cells = (double)windows, full = (double)c->ran.window + 1, last = (double)tail + 1;
    return 2 * (n + cells) * (4 * D * H + 2 * D * D) + 4 * ((cells - 1) * full * full + last * last) * H +
           2 * (4 * n + 2 * cells + 2 * (cells - 1)) * D * D + 4 * n * cells * D;
}

static void mlm_dropout(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor x, const aoei_batch *batch,
                        const aoei_encoder_dropout *drop) {
    if (!drop || drop->hidden == 0)
        return;
    const aoei_dropout d = {
        .p = drop->hidden, .key = {drop->key[0], drop->key[1]}, .site = (uint32_t)(AOEI_RAN_SITES * c->layers)};
    aoei_dropout_add(ctx, x, x, (aoei_tensor){0}, batch, &d);
}

static void mlm_forward(const aoei_mlm_transform *t) {
    const aoei_linear_epilogue e = {.workspace = t->workspace};
    aoei_linear_forward(t->ctx, t->pre, t->in, t->w[AOEI_HW_TRANSFORM], t->w[AOEI_HW_TRANSFORM_BIAS], &e);
    aoei_swish_forward(t->ctx, t->act, t->pre, NULL);
    aoei_ran_norm_forward(t->ctx, t->config, t->out, t->stats, t->act, t->w[AOEI_HW_NORM], t->w[AOEI_HW_NORM_BIAS]);
}

static void mlm_backward(const aoei_mlm_transform *t) {
    const aoei_tensor d = t->d_out;
    aoei_ran_norm_backward(t->ctx, t->config, d, t->g[AOEI_HW_NORM], t->g[AOEI_HW_NORM_BIAS], d, t->act, t->stats,
                           t->w[AOEI_HW_NORM]);
    aoei_swish_backward(t->ctx, t->act, d, t->pre, NULL); /* `act` then contains the gradient of `pre` */
    const aoei_linear_grads l = {
        .dx = t->d_in, .dw = t->g[AOEI_HW_TRANSFORM], .db = t->g[AOEI_HW_TRANSFORM_BIAS], .workspace = t->workspace};
    aoei_linear_backward(t->ctx, &l, t->act, t->in, t->w[AOEI_HW_TRANSFORM]);
}

const aoei_encoder_ops aoei_ran_ops = {
    .layout = layout,
    .forward = forward,
    .backward = backward,
    .pool = pool,
    .pool_backward = pool_backward,
    .layer_operations = layer_operations,
    .mlm_dropout = mlm_dropout,
    .mlm_forward = mlm_forward,
    .mlm_backward = mlm_backward,
};
