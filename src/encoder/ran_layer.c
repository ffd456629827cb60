/* SPDX-License-Identifier: MIT
 * The forward pass of one layer of a recurrent attention network (RAN, docs/ran.md). A text is divided into windows of
 * tokens. The cell of a window is a vector that summarizes the text up to this window. Within a layer, only the cell of
 * a window depends on the previous window. A round, which is a set of windows that are processed at once
 * (ran_windows.h), is therefore computed in three parts:
 * - the queries, keys and values of all tokens, at once;
 * - the cells, step by step (a step contains at most one window of each text);
 * - the attention of all tokens to the cell and the tokens of their window, at once.
 * The row of a cell is computed twice, with bit-identical results: in the step of the cell, and together with the rows
 * of the tokens.
 */
#include "encoder/ran_layer.h"

#include <math.h>
#include <string.h>

#include "encoder/slots.h"
#include "nn/attention.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/layernorm.h"
#include "nn/linear.h"
#include "nn/ran_ops.h"
#include "nn/rows.h"
#include "nn/tensor.h"
#include "nn/langml_layernorm.h"

aoei_tensor aoei_ran_part(aoei_tensor t, size_t first, size_t n) {
    return t.rows ? aoei_tensor_rows(t, first, n) : t;
}

aoei_ran_rows aoei_ran_rows_part(const aoei_ran_rows *r, size_t first, size_t n) {
    return (aoei_ran_rows){.in = aoei_ran_part(r->in, first, n),
                           .in_stats = aoei_ran_part(r->in_stats, first, n),
                           .z = aoei_ran_part(r->z, first, n),
                           .pre = aoei_ran_part(r->pre, first, n),
                           .qkv = aoei_ran_part(r->qkv, first, n),
                           .heads = aoei_ran_part(r->heads, first, n),
                           .o = aoei_ran_part(r->o, first, n),
                           .glu = aoei_ran_part(r->glu, first, n),
                           .sum = aoei_ran_part(r->sum, first, n),
                           .sum_stats = aoei_ran_part(r->sum_stats, first, n),
                           .unit = aoei_ran_part(r->unit, first, n),
                           .unit_stats = aoei_ran_part(r->unit_stats, first, n)};
}

/* Returns the tensors of layer *l, limited to the N tokens and C cells of the current batch. In inference, the tensors
 * that have only the rows of one round or of one step are returned unchanged. */
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
                               const aoei_batch *batch, const aoei_encoder_state *s, const aoei_encoder_dropout *drop,
                               size_t layer) {
    aoei_ran_state *own = s->own;
    aoei_ran_pass p = {.ctx = ctx,
                       .c = c,
                       .w = w + aoei_slot_of_layer(c, layer, 0),
                       .batch = batch,
                       .mode = s->mode,
                       .s = own,
                       .drop = drop,
                       .layer = layer,
                       .N = batch->n_tokens,
                       .C = own->windows.n,
                       .D = c->hidden,
                       .H = c->heads * c->ran.head_size};
    p.l = layer_part(&own->layers[layer], p.N, p.C, s->mode.training);
    if (layer)
        p.cells_from = aoei_tensor_rows(own->layers[layer - 1].after, 0, p.C);
    return p;
}

aoei_dropout aoei_ran_dropout(const aoei_ran_pass *p, uint32_t site) {
    aoei_dropout d = {.site = (uint32_t)(AOEI_RAN_SITES * p->layer) + site};
    if (p->drop) {
        d.p = site == AOEI_RAN_SITE_ATTENTION ? p->drop->attention : p->drop->hidden;
        memcpy(d.key, p->drop->key, sizeof d.key);
    }
    return d;
}

aoei_attention aoei_ran_attention(const aoei_ran_pass *p) {
    return (aoei_attention){.heads = p->c->heads,
                            .kv_heads = p->c->heads,
                            .head_dim = p->c->ran.head_size,
                            .scale = 1.0 / sqrt((double)p->c->ran.head_size),
                            .drop = aoei_ran_dropout(p, AOEI_RAN_SITE_ATTENTION)};
}

aoei_attention aoei_ran_review_attention(const aoei_ran_pass *p) {
    return (aoei_attention){.heads = 1, .kv_heads = 1, .head_dim = p->D, .scale = 1.0 / sqrt((double)p->D)};
}

void aoei_ran_norm_forward(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor y, aoei_tensor stats,
                           aoei_tensor x, aoei_tensor gamma, aoei_tensor beta) {
    (c->ran.langml_norm ? aoei_langml_layernorm_forward : aoei_layernorm_forward)(ctx, y, stats, x, gamma, beta,
                                                                                  c->norm_eps);
}

void aoei_ran_norm_backward(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor dx, aoei_tensor dgamma,
                            aoei_tensor dbeta, aoei_tensor dy, aoei_tensor x, aoei_tensor stats, aoei_tensor gamma) {
    (c->ran.langml_norm ? aoei_langml_layernorm_backward : aoei_layernorm_backward)(ctx, dx, dgamma, dbeta, dy, x,
                                                                                    stats, gamma);
}

/* Applies dropout to x in place. The rows of x are the tokens of the batch `keys`, whose texts and positions select the
 * dropout masks. */
static void drop(const aoei_ran_pass *p, aoei_tensor x, const aoei_batch *keys, uint32_t site) {
    const aoei_dropout d = aoei_ran_dropout(p, site);
    if (d.p > 0)
        aoei_dropout_add(p->ctx, x, x, (aoei_tensor){0}, keys, &d);
}

/* Computes y = x w^T + b. The weight w is in `slot`, and the bias b is in the next slot. */
static void linear(const aoei_ran_pass *p, aoei_tensor y, aoei_tensor x, size_t slot) {
    const aoei_linear_epilogue e = {.workspace = p->s->workspace};
    aoei_linear_forward(p->ctx, y, x, p->w[slot], p->w[slot + 1], &e);
}

/* Computes the two linear layers of a gated linear unit: the first D columns of y[n, 2D] are the linear part, and the
 * other columns are the gate before its activation. */
static void gated(const aoei_ran_pass *p, aoei_tensor y, aoei_tensor x, size_t slot) {
    linear(p, aoei_tensor_cols(y, 0, p->D), x, slot);
    linear(p, aoei_tensor_cols(y, p->D, p->D), x, slot + 2);
}

/* Computes r->qkv (queries, keys and values) from r->in. `position` contains the positions of the rows in their
 * windows. If position is NULL, the queries and keys are not rotated; the rows are then cells. */
static void compute_qkv(const aoei_ran_pass *p, const aoei_ran_rows *r, const aoei_batch *keys,
                        const uint32_t *position) {
    const aoei_rotation rotation = {.position = position, .table = p->s->table};
    aoei_ran_norm_forward(p->ctx, p->c, r->z, r->in_stats, r->in, p->w[AOEI_RW_WINDOW_NORM],
                          p->w[AOEI_RW_WINDOW_NORM_BIAS]);
    drop(p, r->z, keys, AOEI_RAN_SITE_WINDOW);
    static const size_t slots[] = {AOEI_RW_Q, AOEI_RW_K, AOEI_RW_V};
    for (size_t i = 0; i < 3; i++) {
        const aoei_tensor pre = aoei_tensor_cols(r->pre, i * p->H, p->H), y = aoei_tensor_cols(r->qkv, i * p->H, p->H);
        linear(p, pre, r->z, slots[i]);
        aoei_swish_forward(p->ctx, y, pre, i < 2 ? &rotation : NULL);
    }
}

/* Computes `result`, the outputs of the rows in *r, from r->heads, the output of the attention. The dropout masks are
 * selected by `keys`. */
static void compute_outputs(const aoei_ran_pass *p, const aoei_ran_rows *r, const aoei_batch *keys,
                            aoei_tensor result) {
    const aoei_ran_state *s = p->s;
    linear(p, r->o, r->heads, AOEI_RW_O);
    gated(p, r->glu, r->z, AOEI_RW_GLU);
    const aoei_gated_sum sum = {
        .gated = r->glu, .x = r->o, .swish = 1, .batch = keys, .drop = aoei_ran_dropout(p, AOEI_RAN_SITE_OUTPUT)};
    aoei_gated_sum_forward(p->ctx, r->sum, &sum);
    aoei_ran_norm_forward(p->ctx, p->c, r->unit, r->sum_stats, r->sum, p->w[AOEI_RW_NORM], p->w[AOEI_RW_NORM_BIAS]);
    aoei_ran_norm_forward(p->ctx, p->c, result, r->unit_stats, r->unit, s->ones, s->zeros);
    drop(p, result, keys, AOEI_RAN_SITE_STEP);
}

/* Computes `in`, the input cells of a step. If the windows of the step are the first windows of their texts, the input
 * cells are the final cells of the texts in the previous layer or, in the first layer, the trained initial cell.
 * Otherwise, the input cell of a window is the cell after the previous window of its text. */
static void compute_step_input(const aoei_ran_pass *p, const aoei_ran_step *step, aoei_tensor in,
                               const aoei_batch *keys) {
    const uint32_t *previous = p->s->windows.previous + step->first;
    if (step->number)
        aoei_rows_gather(p->ctx, in, p->l.after, previous);
    else if (p->layer)
        aoei_rows_gather(p->ctx, in, p->cells_from, previous);
    else {
        aoei_tensor_copy(p->ctx, in, aoei_tensor_repeat(p->w[AOEI_RW_FIRST_CELL], step->n));
        drop(p, in, keys, AOEI_RAN_SITE_FIRST);
    }
}

/* Computes p->l.after, the cells after the windows of a step, from g, the raw cells of the step (the outputs of the
 * windows for their cells). In every window except the first of a text, a residual is added, which is computed from the
 * raw cell of the previous window. */
static void compute_step_output(const aoei_ran_pass *p, const aoei_ran_step *step, aoei_tensor g) {
    const aoei_ran_layer *l = &p->l;
    const aoei_ran_windows *w = &p->s->windows;
    const size_t at = p->mode.training ? step->first : 0, n = step->n;
    const aoei_tensor after = aoei_tensor_rows(l->after, step->first, n);
    if (!step->number) {
        aoei_tensor_copy(p->ctx, after, g);
        return;
    }
    const aoei_tensor before = aoei_tensor_rows(l->before, at, n), glu = aoei_tensor_rows(l->carry_glu, at, n),
                      carry = aoei_tensor_rows(l->carry, at, n);
    aoei_rows_gather(p->ctx, before, l->g, w->previous + step->first);
    gated(p, glu, before, AOEI_RW_CELL_GLU);
    const aoei_gated_sum sum = {.gated = glu, .x = g};
    aoei_gated_sum_forward(p->ctx, carry, &sum);
    aoei_ran_norm_forward(p->ctx, p->c, after, aoei_ran_part(l->carry_stats, at, n), carry, p->w[AOEI_RW_CELL_NORM],
                          p->w[AOEI_RW_CELL_NORM_BIAS]);
    aoei_batch keys = aoei_ran_step_batch(w, step->first, step->unfinished);
    keys.first = w->step_number + step->first;
    if (step->unfinished)
        drop(p, aoei_tensor_rows(after, 0, step->unfinished), &keys, AOEI_RAN_SITE_CELL);
}

/* Copies activations of the cells of a step to the rows of these cells in `rows`, the activations of the round. The
 * attention of the tokens and the backward pass read them there. row[i] is the row of the i-th cell of the step. */
static void put_cells(const aoei_ran_pass *p, const aoei_ran_rows *rows, const aoei_ran_rows *cells,
                      const uint32_t *row) {
    const size_t H = p->H;
    aoei_rows_put(p->ctx, aoei_tensor_cols(rows->qkv, H, 2 * H), aoei_tensor_cols(cells->qkv, H, 2 * H), row);
    if (!p->mode.training)
        return;
    aoei_rows_put(p->ctx, aoei_tensor_cols(rows->qkv, 0, H), aoei_tensor_cols(cells->qkv, 0, H), row);
    aoei_rows_put(p->ctx, rows->in, cells->in, row);
    aoei_rows_put(p->ctx, rows->in_stats, cells->in_stats, row);
    aoei_rows_put(p->ctx, rows->z, cells->z, row);
    aoei_rows_put(p->ctx, rows->pre, cells->pre, row);
}

/* Computes the cells of a step. `rows` contains the activations of the round to which the step belongs. */
static void run_step(const aoei_ran_pass *p, const aoei_ran_step *step, const aoei_ran_rows *rows) {
    const aoei_ran_windows *w = &p->s->windows;
    const size_t n = step->n, H = p->H;
    const aoei_ran_rows cells = aoei_ran_rows_part(&p->l.cells, p->mode.training ? step->first : 0, n);
    const aoei_batch keys = aoei_ran_step_batch(w, step->first, n);
    const aoei_attention a = aoei_ran_attention(p);
    const aoei_tensor g = aoei_tensor_rows(p->l.g, step->first, n);
    compute_step_input(p, step, cells.in, &keys);
    compute_qkv(p, &cells, &keys, NULL);
    put_cells(p, rows, &cells, w->row + step->first);
    aoei_attention_spans_forward(p->ctx, cells.heads, aoei_tensor_cols(cells.qkv, 0, H),
                                 aoei_tensor_cols(rows->qkv, H, H), aoei_tensor_cols(rows->qkv, 2 * H, H),
                                 w->step_spans + step->first, n, &a, p->s->scratch);
    compute_outputs(p, &cells, &keys, g);
    compute_step_output(p, step, g);
}

/* Computes the windows of a round: first the cells, step by step, then the attention of all windows at once. */
static void run_round(const aoei_ran_pass *p, const aoei_ran_round *round, aoei_tensor x) {
    const aoei_ran_windows *w = &p->s->windows;
    const size_t H = p->H;
    const aoei_ran_rows rows = aoei_ran_rows_part(&p->l.rows, 0, round->rows);
    const aoei_tensor result = aoei_tensor_rows(p->s->result, 0, round->rows);
    const aoei_batch keys = aoei_ran_round_batch(w, round);
    const aoei_attention a = aoei_ran_attention(p);
    /* the rows of tokens receive their inputs; the rows of cells are set to 0 until their steps are computed */
    aoei_rows_gather(p->ctx, rows.in, x, w->token + round->first_row);
    compute_qkv(p, &rows, &keys, w->position + round->first_row);
    for (size_t i = 0; i < round->steps; i++)
        run_step(p, &w->steps[round->first_step + i], &rows);
    aoei_attention_spans_forward(p->ctx, rows.heads, aoei_tensor_cols(rows.qkv, 0, H), aoei_tensor_cols(rows.qkv, H, H),
                                 aoei_tensor_cols(rows.qkv, 2 * H, H), w->round_spans + round->first_window,
                                 round->windows, &a, p->s->scratch);
    compute_outputs(p, &rows, &keys, result);
    aoei_rows_put(p->ctx, p->l.tokens, result, w->token + round->first_row);
}

/* Computes memory review for tokens [first, first + n) of the batch. In training, the block contains all tokens of the
 * batch. */
static void review_block(const aoei_ran_pass *p, size_t first, size_t n) {
    aoei_ran_state *s = p->s;
    const aoei_ran_layer *l = &p->l;
    const size_t D = p->D, at = p->mode.training ? first : 0;
    const aoei_batch block = aoei_ran_block(&s->windows, p->batch, first, n);
    const aoei_attention a = aoei_ran_review_attention(p);
    const aoei_tensor q = aoei_tensor_rows(s->review_q, at, n), q_pre = aoei_tensor_rows(l->q_pre, at, n),
                      kv = aoei_tensor_rows(s->review_kv, 0, p->C), heads = aoei_tensor_rows(l->review, at, n),
                      o = aoei_tensor_rows(l->review_o, at, n), glu = aoei_tensor_rows(l->review_glu, at, n),
                      sum = aoei_tensor_rows(l->review_sum, at, n);
    linear(p, q_pre, aoei_tensor_rows(l->tokens, first, n), AOEI_RW_REVIEW_Q);
    aoei_swish_forward(p->ctx, q, q_pre, NULL);
    aoei_attention_spans_forward(p->ctx, heads, q, aoei_tensor_cols(kv, 0, D), aoei_tensor_cols(kv, D, D),
                                 s->windows.block_spans, block.n_texts, &a, s->scratch);
    linear(p, o, heads, AOEI_RW_REVIEW_O);
    gated(p, glu, q, AOEI_RW_REVIEW_GLU);
    const aoei_gated_sum gated_sum = {
        .gated = glu, .x = o, .swish = 1, .batch = &block, .drop = aoei_ran_dropout(p, AOEI_RAN_SITE_REVIEW)};
    aoei_gated_sum_forward(p->ctx, sum, &gated_sum);
    aoei_ran_norm_forward(p->ctx, p->c, aoei_tensor_rows(l->out, first, n), aoei_ran_part(l->review_stats, at, n), sum,
                          p->w[AOEI_RW_REVIEW_NORM], p->w[AOEI_RW_REVIEW_NORM_BIAS]);
}

void aoei_ran_layer_forward(aoei_ran_pass *p, aoei_tensor x) {
    const aoei_ran_state *s = p->s;
    const size_t most = aoei_ran_limits_of(p->c, p->mode.training).rows, D = p->D;
    for (size_t i = 0; i < s->windows.n_rounds; i++)
        run_round(p, &s->windows.rounds[i], x);
    aoei_rows_gather(p->ctx, p->l.s, p->l.g, s->windows.step_order);
    static const size_t slots[] = {AOEI_RW_REVIEW_K, AOEI_RW_REVIEW_V};
    for (size_t i = 0; i < 2; i++) {
        const aoei_tensor pre = aoei_tensor_cols(p->l.kv_pre, i * D, D);
        linear(p, pre, p->l.s, slots[i]);
        aoei_swish_forward(p->ctx, aoei_tensor_cols(aoei_tensor_rows(s->review_kv, 0, p->C), i * D, D), pre, NULL);
    }
    for (size_t first = 0; first < p->N; first += most < p->N - first ? most : p->N - first)
        review_block(p, first, most < p->N - first ? most : p->N - first);
}
