/* SPDX-License-Identifier: MIT
 * Forward and backward pass of one direction of an LSTM. A task computes the cells of one text at one position.
 */
#include "nn/lstm.h"

#include <string.h>

#include "base/pool.h"
#include "kernels/kernel_table.h"
#include "nn/gemm.h"
#include "nn/linear.h"

/* Sorts the texts in descending order of their lengths; texts of equal length keep their order. Computes l->active. */
static void sort_texts(const aoei_lstm *l, const aoei_batch *batch) {
    memset(l->active, 0, (batch->longest + 1) * sizeof *l->active);
    for (size_t i = 0; i < batch->n_texts; i++)
        for (size_t t = batch->offsets[i + 1] - batch->offsets[i]; t-- > 0;)
            l->active[t]++;
    /* active[n] is the number of texts that are longer than n, and therefore the rank of the first text of length n */
    for (size_t i = 0; i < batch->n_texts; i++)
        l->order[l->active[batch->offsets[i + 1] - batch->offsets[i]]++] = (uint32_t)i;
    for (size_t i = 0; i < batch->n_texts; i++)
        l->active[batch->offsets[i + 1] - batch->offsets[i]]--;
}

/* Returns the index of the token that is at position t of the text with the rank `rank`, in the direction of l. */
static size_t token_at(const aoei_lstm *l, const aoei_batch *batch, size_t rank, size_t t) {
    const size_t text = l->order[rank];
    return l->reverse ? batch->offsets[text + 1] - 1 - t : batch->offsets[text] + t;
}

static float *row(aoei_tensor x, size_t i) {
    return aoei_f32(x) + i * x.ld;
}

/* Arguments of the tasks of one position. */
typedef struct step {
    const aoe_context *ctx;
    const aoei_lstm *l;
    const aoei_batch *batch;
    aoei_tensor y;  /* [N, H] output, or its gradient */
    size_t t;       /* position */
    size_t ongoing; /* backward pass: number of texts that have a token after position t */
} step;

/* Returns the c that precedes position t, which is zero at the first position. */
static const float *cell_before(const step *s, size_t rank) {
    return s->t ? row(s->l->cells, token_at(s->l, s->batch, rank, s->t - 1)) : aoei_f32(s->l->zeros);
}

static void forward_task(void *arg, size_t rank, size_t worker) {
    const step *s = arg;
    const aoei_lstm *l = s->l;
    const size_t token = token_at(l, s->batch, rank, s->t);
    const float *products = s->t ? row(l->recurrent, rank) : aoei_f32(l->w[AOEI_LSTM_RECURRENT_BIAS]);
    (void)worker;
    aoei_kernels_of(s->ctx)->lstm_f32(row(l->state, rank), row(l->cells, token), row(l->gates, token), products,
                                      cell_before(s, rank), l->out);
    memcpy(row(s->y, token), row(l->state, rank), l->out * sizeof(float));
}

size_t aoei_lstm_packed_size(const aoe_context *ctx, size_t out) {
    const size_t forward = aoei_weight_packed_size(ctx, AOEI_F32, 4 * out, out);
    const size_t backward = aoei_weight_packed_size(ctx, AOEI_F32, out, 4 * out);
    return forward > backward ? forward : backward;
}

void aoei_lstm_forward(const aoe_context *ctx, const aoei_lstm *l, aoei_tensor y, aoei_tensor x,
                       const aoei_batch *batch) {
    const aoei_linear_epilogue e = {.workspace = l->workspace};
    aoei_tensor recurrent = l->w[AOEI_LSTM_RECURRENT];
    step s = {.ctx = ctx, .l = l, .batch = batch, .y = y};
    sort_texts(l, batch);
    aoei_tensor_zero(ctx, l->zeros);
    aoei_linear_forward(ctx, aoei_tensor_rows(l->gates, 0, x.rows), x, l->w[AOEI_LSTM_INPUT],
                        l->w[AOEI_LSTM_INPUT_BIAS], &e);
    aoei_weight_pack(ctx, AOEI_F32, &recurrent, l->packed);
    for (; s.t < batch->longest; s.t++) {
        const size_t n = l->active[s.t];
        if (s.t)
            aoei_linear_forward(ctx, aoei_tensor_rows(l->recurrent, 0, n), aoei_tensor_rows(l->state, 0, n), recurrent,
                                l->w[AOEI_LSTM_RECURRENT_BIAS], NULL);
        aoei_parallel_for(ctx->pool, n, forward_task, &s);
    }
}

/* Computes the gradients of one cell's gates before their activation functions. l->state contains the gradient of h
 * that comes from the next position. */
static void backward_task(void *arg, size_t rank, size_t worker) {
    const step *s = arg;
    const aoei_lstm *l = s->l;
    const size_t token = token_at(l, s->batch, rank, s->t);
    float *dh = row(l->state, rank), *dc = row(l->grad_cell, rank), *gates = row(l->gates, token);
    const float *dy = row(s->y, token);
    (void)worker;
    if (rank < s->ongoing) {
        aoei_kernels_of(s->ctx)->add_f32(dh, dh, dy, l->out);
    } else {
        memcpy(dh, dy, l->out * sizeof *dh);
        memset(dc, 0, l->out * sizeof *dc);
    }
    aoei_kernels_of(s->ctx)->lstm_grad_f32(gates, dc, dh, row(l->cells, token), cell_before(s, rank), l->out);
    memcpy(row(l->recurrent, rank), gates, 4 * l->out * sizeof *gates);
}

/* Sets the row of each token of l->previous to the previous h, which is zero at the first position of a text. y:
 * outputs. */
static void previous_task(void *arg, size_t text, size_t worker) {
    const step *s = arg;
    const size_t first = s->batch->offsets[text], end = s->batch->offsets[text + 1];
    (void)worker;
    for (size_t token = first; token < end; token++) {
        const int starts = s->l->reverse ? token + 1 == end : token == first;
        const float *from = starts ? aoei_f32(s->l->zeros) : row(s->y, s->l->reverse ? token + 1 : token - 1);
        memcpy(row(s->l->previous, token), from, s->l->out * sizeof *from);
    }
}

/* Computes the gradients of the arguments of all gates, which replace l->gates. */
static void backward_through_time(const aoe_context *ctx, const aoei_lstm *l, aoei_tensor dy, const aoei_batch *batch) {
    step s = {.ctx = ctx, .l = l, .batch = batch, .y = dy};
    aoei_gemm_pack(ctx, AOEI_F32, l->packed, l->w[AOEI_LSTM_RECURRENT], 0);
    for (s.t = batch->longest; s.t-- > 0;) {
        const size_t n = l->active[s.t];
        aoei_parallel_for(ctx->pool, n, backward_task, &s);
        s.ongoing = n;
        aoei_gemm_args g = {.M = n,
                            .N = l->out,
                            .K = 4 * l->out,
                            .a = l->recurrent.data,
                            .a_row = l->recurrent.ld,
                            .a_col = 1,
                            .packed = l->packed,
                            .c = l->state.data,
                            .c_row = l->state.ld,
                            .scale = 1};
        if (s.t)
            aoei_gemm(ctx, AOEI_F32, &g);
    }
}

void aoei_lstm_backward(const aoe_context *ctx, const aoei_lstm *l, aoei_tensor dx, const aoei_tensor *g,
                        aoei_tensor dy, aoei_tensor y, aoei_tensor x, const aoei_batch *batch) {
    const aoei_tensor gates = aoei_tensor_rows(l->gates, 0, x.rows),
                      previous = aoei_tensor_rows(l->previous, 0, x.rows);
    const aoei_linear_grads input = {
        .dx = dx, .accumulate = 1, .dw = g[AOEI_LSTM_INPUT], .db = g[AOEI_LSTM_INPUT_BIAS], .workspace = l->workspace};
    const aoei_linear_grads recurrent = {
        .dw = g[AOEI_LSTM_RECURRENT], .db = g[AOEI_LSTM_RECURRENT_BIAS], .workspace = l->workspace};
    step s = {.ctx = ctx, .l = l, .batch = batch, .y = y};
    sort_texts(l, batch);
    aoei_tensor_zero(ctx, l->zeros);
    backward_through_time(ctx, l, dy, batch);
    aoei_parallel_for(ctx->pool, batch->n_texts, previous_task, &s);
    aoei_linear_backward(ctx, &recurrent, gates, previous, l->w[AOEI_LSTM_RECURRENT]);
    aoei_linear_backward(ctx, &input, gates, x, l->w[AOEI_LSTM_INPUT]);
}
