/* SPDX-License-Identifier: MIT
 * The backward pass of one layer of a recurrent attention network (RAN, docs/ran.md). It processes, in this order:
 * - memory review;
 * - the tokens of all windows at once;
 * - the cells, from the last step to the first; each cell adds to the gradients of the keys and values of its window;
 * - the weight gradients: for each weight, the gradients of all tokens and cells are added in text order.
 */
#include "encoder/ran_layer_backward.h"

#include "nn/attention.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/elementwise.h"
#include "nn/linear.h"
#include "nn/ran_ops.h"
#include "nn/rows.h"
#include "nn/tensor.h"

static void norm_backward(const aoei_ran_pass *p, aoei_tensor dx, aoei_tensor dgamma, aoei_tensor dbeta, aoei_tensor dy,
                          aoei_tensor x, aoei_tensor stats, aoei_tensor gamma) {
    aoei_ran_norm_backward(p->ctx, p->c, dx, dgamma, dbeta, dy, x, stats, gamma);
}

/* Computes the backward pass of dropout on the gradient d, in place. The rows of d are the tokens of the batch
 * `keys`. */
static void dropout_backward(const aoei_ran_pass *p, aoei_tensor d, const aoei_batch *keys, uint32_t site) {
    const aoei_dropout drop = aoei_ran_dropout(p, site);
    if (drop.p > 0)
        aoei_dropout_add(p->ctx, d, d, (aoei_tensor){0}, keys, &drop);
}

/* Computes dx = dy w, or adds dy w to dx if accumulate is 1. The weight w is in `slot`. */
static void input_gradient(const aoei_ran_pass *p, aoei_tensor dx, int accumulate, aoei_tensor dy, size_t slot) {
    const aoei_linear_grads l = {.dx = dx, .accumulate = accumulate, .workspace = p->s->workspace};
    aoei_linear_backward(p->ctx, &l, dy, dy, p->w[slot]);
}

/* Adds the gradients of the weight and the bias of a linear layer with the input x. The weight is in `slot`, and the
 * bias is in the next slot. */
static void weight_gradient(const aoei_ran_pass *p, aoei_tensor dy, aoei_tensor x, size_t slot) {
    const aoei_linear_grads l = {.dw = p->g[slot], .db = p->g[slot + 1], .workspace = p->s->workspace};
    aoei_linear_backward(p->ctx, &l, dy, x, p->w[slot]);
}

/* Computes dx, the gradient of the input of a gated linear unit, from dgated, the gradient of the outputs of its two
 * linear layers. If accumulate is 1, the gradient is added to dx. `slot` is the slot of the first linear layer. */
static void gated_input_gradient(const aoei_ran_pass *p, aoei_tensor dx, int accumulate, aoei_tensor dgated,
                                 size_t slot) {
    input_gradient(p, dx, accumulate, aoei_tensor_cols(dgated, 0, p->D), slot);
    input_gradient(p, dx, 1, aoei_tensor_cols(dgated, p->D, p->D), slot + 2);
}

static void gated_weight_gradient(const aoei_ran_pass *p, aoei_tensor dgated, aoei_tensor x, size_t slot) {
    weight_gradient(p, aoei_tensor_cols(dgated, 0, p->D), x, slot);
    weight_gradient(p, aoei_tensor_cols(dgated, p->D, p->D), x, slot + 2);
}

static aoei_ran_grads grads_part(const aoei_ran_grads *g, size_t first, size_t n) {
    return (aoei_ran_grads){.unit = aoei_tensor_rows(g->unit, first, n),
                            .sum = aoei_tensor_rows(g->sum, first, n),
                            .o = aoei_tensor_rows(g->o, first, n),
                            .glu = aoei_tensor_rows(g->glu, first, n),
                            .heads = aoei_tensor_rows(g->heads, first, n),
                            .qkv = aoei_tensor_rows(g->qkv, first, n),
                            .pre = aoei_tensor_rows(g->pre, first, n)};
}

/* The backward pass of the linear layers that compute the keys and values of memory review. Computes p->s->d_s from
 * p->s->d_review_kv and adds the weight gradients. */
static void review_cells_backward(const aoei_ran_pass *p) {
    const aoei_ran_state *s = p->s;
    const size_t C = p->C, D = p->D;
    const aoei_tensor d_s = aoei_tensor_rows(s->d_s, 0, C);
    static const size_t slots[] = {AOEI_RW_REVIEW_K, AOEI_RW_REVIEW_V};
    for (size_t i = 0; i < 2; i++) {
        const aoei_tensor d = aoei_tensor_cols(aoei_tensor_rows(s->d_kv_pre, 0, C), i * D, D);
        aoei_swish_backward(p->ctx, d, aoei_tensor_cols(aoei_tensor_rows(s->d_review_kv, 0, C), i * D, D),
                            aoei_tensor_cols(p->l.kv_pre, i * D, D), NULL);
        weight_gradient(p, d, p->l.s, slots[i]);
        input_gradient(p, d_s, i > 0, d, slots[i]);
    }
}

/* The backward pass of memory review. Before the call, d is the gradient of the output of the layer; after the call, it
 * is the gradient of the outputs of the windows. Also computes d_s, the gradient of the raw cells. */
static void review_backward(const aoei_ran_pass *p, aoei_tensor d) {
    aoei_ran_state *s = p->s;
    const aoei_ran_layer *l = &p->l;
    const size_t N = p->N, C = p->C, D = p->D;
    const aoei_batch block = aoei_ran_block(&s->windows, p->batch, 0, N);
    const aoei_tensor q = aoei_tensor_rows(s->review_q, 0, N), kv = aoei_tensor_rows(s->review_kv, 0, C),
                      d_kv = aoei_tensor_rows(s->d_review_kv, 0, C), d_q = aoei_tensor_rows(s->d.sum, 0, N),
                      d_o = aoei_tensor_rows(s->d.o, 0, N), d_glu = aoei_tensor_rows(s->d.glu, 0, N),
                      d_heads = aoei_tensor_rows(s->d_review, 0, N);
    aoei_swish_forward(p->ctx, q, l->q_pre, NULL);
    for (size_t i = 0; i < 2; i++)
        aoei_swish_forward(p->ctx, aoei_tensor_cols(kv, i * D, D), aoei_tensor_cols(l->kv_pre, i * D, D), NULL);
    norm_backward(p, d, p->g[AOEI_RW_REVIEW_NORM], p->g[AOEI_RW_REVIEW_NORM_BIAS], d, l->review_sum, l->review_stats,
                  p->w[AOEI_RW_REVIEW_NORM]);
    const aoei_gated_sum sum = {.gated = l->review_glu,
                                .x = l->review_o,
                                .swish = 1,
                                .batch = &block,
                                .drop = aoei_ran_dropout(p, AOEI_RAN_SITE_REVIEW)};
    aoei_gated_sum_backward(p->ctx, d_glu, d_o, d, &sum);
    weight_gradient(p, d_o, l->review, AOEI_RW_REVIEW_O);
    input_gradient(p, d_heads, 0, d_o, AOEI_RW_REVIEW_O);
    aoei_tensor_zero(p->ctx, d_kv);
    const aoei_attention a = aoei_ran_review_attention(p);
    aoei_attention_spans_backward(p->ctx, d_q, aoei_tensor_cols(d_kv, 0, D), aoei_tensor_cols(d_kv, D, D), d_heads, q,
                                  aoei_tensor_cols(kv, 0, D), aoei_tensor_cols(kv, D, D), s->windows.block_spans,
                                  block.n_texts, &a, s->scratch);
    gated_weight_gradient(p, d_glu, q, AOEI_RW_REVIEW_GLU);
    gated_input_gradient(p, d_q, 1, d_glu, AOEI_RW_REVIEW_GLU);
    aoei_swish_backward(p->ctx, d_o, d_q, l->q_pre, NULL);
    weight_gradient(p, d_o, l->tokens, AOEI_RW_REVIEW_Q);
    input_gradient(p, d, 0, d_o, AOEI_RW_REVIEW_Q);
    review_cells_backward(p);
}

/* The backward pass of compute_outputs. Computes d->heads from d->unit, the gradient of the outputs of the rows. */
static void outputs_backward(const aoei_ran_pass *p, const aoei_ran_grads *d, const aoei_ran_rows *r,
                             const aoei_batch *keys) {
    const aoei_tensor none = {0};
    dropout_backward(p, d->unit, keys, AOEI_RAN_SITE_STEP);
    norm_backward(p, d->unit, none, none, d->unit, r->unit, r->unit_stats, p->s->ones);
    norm_backward(p, d->sum, none, none, d->unit, r->sum, r->sum_stats, p->w[AOEI_RW_NORM]);
    const aoei_gated_sum sum = {
        .gated = r->glu, .x = r->o, .swish = 1, .batch = keys, .drop = aoei_ran_dropout(p, AOEI_RAN_SITE_OUTPUT)};
    aoei_gated_sum_backward(p->ctx, d->glu, d->o, d->sum, &sum);
    input_gradient(p, d->heads, 0, d->o, AOEI_RW_O);
}

/* The backward pass of the linear layers whose input is r->z. Computes d->sum, the gradient of r->z, from d->qkv and
 * d->glu. */
static void qkv_backward(const aoei_ran_pass *p, const aoei_ran_grads *d, const aoei_ran_rows *r,
                         const uint32_t *position) {
    const aoei_rotation rotation = {.position = position, .table = p->s->table};
    static const size_t slots[] = {AOEI_RW_Q, AOEI_RW_K, AOEI_RW_V};
    for (size_t i = 0; i < 3; i++) {
        const aoei_tensor pre = aoei_tensor_cols(d->pre, i * p->H, p->H);
        aoei_swish_backward(p->ctx, pre, aoei_tensor_cols(d->qkv, i * p->H, p->H),
                            aoei_tensor_cols(r->pre, i * p->H, p->H), i < 2 ? &rotation : NULL);
        input_gradient(p, d->sum, i > 0, pre, slots[i]);
    }
    gated_input_gradient(p, d->sum, 1, d->glu, AOEI_RW_GLU);
}

/* Computes the gradients of the tokens of all windows from d[N, D], the gradient of the outputs of the windows. The
 * last results are the gradients of queries, keys and values in rows->qkv, to which step_backward later adds the
 * gradients that come from the cells. */
static void tokens_backward(const aoei_ran_pass *p, aoei_tensor d, const aoei_ran_grads *rows, const aoei_batch *keys) {
    const aoei_ran_state *s = p->s;
    const size_t H = p->H;
    const aoei_attention a = aoei_ran_attention(p);
    aoei_tensor_zero(p->ctx, aoei_tensor_cols(rows->qkv, H, 2 * H));
    /* if only cells were pooled, the gradient of the last hidden state is 0 */
    if (s->pooled_cells && p->layer + 1 == p->c->layers) {
        aoei_tensor_zero(p->ctx, rows->unit);
        aoei_tensor_zero(p->ctx, rows->o);
        aoei_tensor_zero(p->ctx, rows->glu);
        aoei_tensor_zero(p->ctx, aoei_tensor_cols(rows->qkv, 0, H));
        return;
    }
    uint32_t *const token = s->windows.token;
    aoei_rows_gather(p->ctx, rows->unit, d, token);
    outputs_backward(p, rows, &p->l.rows, keys);
    const aoei_tensor qkv = p->l.rows.qkv;
    aoei_attention_spans_backward(p->ctx, aoei_tensor_cols(rows->qkv, 0, H), aoei_tensor_cols(rows->qkv, H, H),
                                  aoei_tensor_cols(rows->qkv, 2 * H, H), rows->heads, aoei_tensor_cols(qkv, 0, H),
                                  aoei_tensor_cols(qkv, H, H), aoei_tensor_cols(qkv, 2 * H, H), s->windows.round_spans,
                                  s->windows.n, &a, s->scratch);
}

/* The backward pass of compute_step_output. Computes the gradients of the raw cells of the step, and of the raw cells
 * of the previous windows, from d_after, and adds them to d_g. */
static void carry_backward(const aoei_ran_pass *p, const aoei_ran_step *step) {
    const aoei_ran_state *s = p->s;
    const aoei_ran_layer *l = &p->l;
    const size_t first = step->first, n = step->n;
    const aoei_tensor none = {0}, d_g = aoei_tensor_rows(s->d_g, first, n),
                      d_after = aoei_tensor_rows(s->d_after, first, n),
                      d_carry = aoei_tensor_rows(s->d_carry, first, n),
                      d_glu = aoei_tensor_rows(s->d_carry_glu, first, n);
    if (!step->number) {
        aoei_add(p->ctx, d_g, d_g, d_after);
        return;
    }
    aoei_batch keys = aoei_ran_step_batch(&s->windows, first, step->unfinished);
    keys.first = s->windows.step_number + first;
    if (step->unfinished)
        dropout_backward(p, aoei_tensor_rows(d_after, 0, step->unfinished), &keys, AOEI_RAN_SITE_CELL);
    norm_backward(p, d_carry, none, none, d_after, aoei_tensor_rows(l->carry, first, n),
                  aoei_tensor_rows(l->carry_stats, first, n), p->w[AOEI_RW_CELL_NORM]);
    aoei_add(p->ctx, d_g, d_g, d_carry);
    const aoei_tensor glu = aoei_tensor_rows(l->carry_glu, first, n);
    const aoei_gated_sum sum = {.gated = glu, .x = aoei_tensor_rows(l->g, first, n)};
    aoei_gated_sum_backward(p->ctx, d_glu, none, d_carry, &sum);
    gated_input_gradient(p, d_carry, 0, d_glu, AOEI_RW_CELL_GLU);
    aoei_rows_add(p->ctx, aoei_tensor_rows(s->d_g, 0, p->C), d_carry, s->windows.previous + first);
}

/* The backward pass of run_step. Computes the gradients of the step's cell activations and input cells, and adds the
 * gradients of the keys and values of their windows to rows->qkv. */
static void step_backward(const aoei_ran_pass *p, const aoei_ran_step *step, const aoei_ran_grads *rows) {
    const aoei_ran_state *s = p->s;
    const aoei_ran_windows *w = &s->windows;
    const size_t first = step->first, n = step->n, H = p->H;
    const aoei_ran_grads d = grads_part(&s->d_cells, first, n);
    const aoei_ran_rows cells = aoei_ran_rows_part(&p->l.cells, first, n);
    const aoei_batch keys = aoei_ran_step_batch(w, first, n);
    const aoei_attention a = aoei_ran_attention(p);
    const aoei_tensor none = {0}, qkv = p->l.rows.qkv;
    carry_backward(p, step);
    aoei_tensor_copy(p->ctx, d.unit, aoei_tensor_rows(s->d_g, first, n));
    outputs_backward(p, &d, &cells, &keys);
    aoei_attention_spans_backward(p->ctx, aoei_tensor_cols(d.qkv, 0, H), aoei_tensor_cols(rows->qkv, H, H),
                                  aoei_tensor_cols(rows->qkv, 2 * H, H), d.heads, aoei_tensor_cols(cells.qkv, 0, H),
                                  aoei_tensor_cols(qkv, H, H), aoei_tensor_cols(qkv, 2 * H, H), w->step_spans + first,
                                  n, &a, s->scratch);
    aoei_rows_gather(p->ctx, aoei_tensor_cols(d.qkv, H, 2 * H), aoei_tensor_cols(rows->qkv, H, 2 * H), w->row + first);
    qkv_backward(p, &d, &cells, NULL);
    dropout_backward(p, d.sum, &keys, AOEI_RAN_SITE_WINDOW);
    norm_backward(p, d.sum, none, none, d.sum, cells.in, cells.in_stats, p->w[AOEI_RW_WINDOW_NORM]);
    if (step->number) {
        aoei_rows_put(p->ctx, aoei_tensor_rows(s->d_after, 0, p->C), d.sum, w->previous + first);
        return;
    }
    if (!p->layer)
        dropout_backward(p, d.sum, &keys, AOEI_RAN_SITE_FIRST);
    aoei_rows_put(p->ctx, aoei_tensor_rows(s->d_first, 0, w->n_texts), d.sum, w->text + first);
}

/* Adds the weight gradients of the residual between adjacent cells. The contributions of the windows are added in text
 * order. */
static void carry_weights(const aoei_ran_pass *p) {
    const aoei_ran_state *s = p->s;
    const aoei_ran_windows *w = &s->windows;
    const size_t n = w->n - w->n_texts;
    const aoei_tensor none = {0}, a = aoei_tensor_rows(s->later_a, 0, n), glu = aoei_tensor_rows(s->later_glu, 0, n),
                      d = aoei_tensor_rows(s->later_d, 0, n), stats = aoei_tensor_rows(s->later_stats, 0, n);
    if (!n)
        return;
    aoei_rows_gather(p->ctx, d, s->d_after, w->later);
    aoei_rows_gather(p->ctx, stats, p->l.carry_stats, w->later);
    aoei_rows_gather(p->ctx, a, p->l.carry, w->later);
    norm_backward(p, none, p->g[AOEI_RW_CELL_NORM], p->g[AOEI_RW_CELL_NORM_BIAS], d, a, stats, p->w[AOEI_RW_CELL_NORM]);
    aoei_rows_gather(p->ctx, glu, s->d_carry_glu, w->later);
    aoei_rows_gather(p->ctx, a, p->l.g, w->earlier);
    gated_weight_gradient(p, glu, a, AOEI_RW_CELL_GLU);
}

/* Copies the gradients of the cells to the rows of the cells in the round. */
static void put_cells(const aoei_ran_pass *p, const aoei_ran_grads *rows) {
    const aoei_ran_state *s = p->s;
    const aoei_ran_grads cells = grads_part(&s->d_cells, 0, p->C);
    const uint32_t *row = s->windows.row;
    aoei_rows_put(p->ctx, rows->unit, cells.unit, row);
    aoei_rows_put(p->ctx, rows->o, cells.o, row);
    aoei_rows_put(p->ctx, rows->glu, cells.glu, row);
    aoei_rows_put(p->ctx, aoei_tensor_cols(rows->qkv, 0, p->H), aoei_tensor_cols(cells.qkv, 0, p->H), row);
}

/* Adds the weight gradients for all rows, in text order. Also computes rows->sum, the gradient of the input of the
 * layer. */
static void rows_backward(const aoei_ran_pass *p, const aoei_ran_grads *rows, const aoei_batch *keys) {
    const aoei_ran_rows *r = &p->l.rows;
    const aoei_tensor none = {0};
    static const size_t slots[] = {AOEI_RW_Q, AOEI_RW_K, AOEI_RW_V};
    norm_backward(p, none, p->g[AOEI_RW_NORM], p->g[AOEI_RW_NORM_BIAS], rows->unit, r->sum, r->sum_stats,
                  p->w[AOEI_RW_NORM]);
    weight_gradient(p, rows->o, r->heads, AOEI_RW_O);
    qkv_backward(p, rows, r, p->s->windows.position);
    for (size_t i = 0; i < 3; i++)
        weight_gradient(p, aoei_tensor_cols(rows->pre, i * p->H, p->H), r->z, slots[i]);
    gated_weight_gradient(p, rows->glu, r->z, AOEI_RW_GLU);
    dropout_backward(p, rows->sum, keys, AOEI_RAN_SITE_WINDOW);
    norm_backward(p, rows->sum, p->g[AOEI_RW_WINDOW_NORM], p->g[AOEI_RW_WINDOW_NORM_BIAS], rows->sum, r->in,
                  r->in_stats, p->w[AOEI_RW_WINDOW_NORM]);
}

/* Initializes d_s, d_g and d_after with the gradients that come from memory review and from the next layer (in the last
 * layer: from the pooling of cells). */
static void begin_gradients(const aoei_ran_pass *p, aoei_tensor d) {
    const aoei_ran_state *s = p->s;
    const aoei_ran_windows *w = &s->windows;
    const int last = p->layer + 1 == p->c->layers, pooled = last && s->pooled_cells;
    const aoei_tensor d_s = aoei_tensor_rows(pooled ? s->pool_cells : s->d_s, 0, p->C),
                      d_g = aoei_tensor_rows(s->d_g, 0, p->C), d_after = aoei_tensor_rows(s->d_after, 0, p->C);
    if (!pooled)
        review_backward(p, d);
    aoei_rows_put(p->ctx, d_g, d_s, w->step_order);
    if (last && !pooled)
        aoei_tensor_zero(p->ctx, d_after);
    else
        aoei_rows_scatter(p->ctx, d_after, aoei_tensor_rows(pooled ? s->pool_last : s->d_first, 0, w->n_texts),
                          w->last);
}

/* Recomputes the activations that the forward pass did not keep. With recomputation, these are all activations of the
 * layer. Otherwise they are the queries, keys and values, for which all layers use the same tensors. */
static void recompute_activations(aoei_ran_pass *p, aoei_tensor x) {
    if (p->mode.recompute) {
        aoei_ran_layer_forward(p, x);
        return;
    }
    const aoei_rotation rotation = {.position = p->s->windows.position, .table = p->s->table};
    const aoei_ran_rows *sets[] = {&p->l.rows, &p->l.cells};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < 3; i++)
            aoei_swish_forward(p->ctx, aoei_tensor_cols(sets[k]->qkv, i * p->H, p->H),
                               aoei_tensor_cols(sets[k]->pre, i * p->H, p->H), k == 0 && i < 2 ? &rotation : NULL);
}

void aoei_ran_layer_backward(aoei_ran_pass *p, aoei_tensor x, aoei_tensor d) {
    const aoei_ran_state *s = p->s;
    const aoei_ran_windows *w = &s->windows;
    const aoei_ran_grads rows = grads_part(&s->d, 0, p->N + p->C);
    const aoei_batch keys = aoei_ran_round_batch(w, &w->rounds[0]);
    recompute_activations(p, x);
    begin_gradients(p, d);
    tokens_backward(p, d, &rows, &keys);
    for (size_t i = w->n_steps; i-- > 0;)
        step_backward(p, &w->steps[i], &rows);
    put_cells(p, &rows);
    rows_backward(p, &rows, &keys);
    carry_weights(p);
    aoei_rows_put(p->ctx, d, rows.sum, w->token);
    if (!p->layer) {
        const aoei_linear_grads first = {.db = p->g[AOEI_RW_FIRST_CELL]};
        const aoei_tensor d_first = aoei_tensor_rows(s->d_first, 0, w->n_texts);
        aoei_linear_backward(p->ctx, &first, d_first, d_first, (aoei_tensor){0});
    }
}
