/* SPDX-License-Identifier: MIT
 * Pooling of token vectors into one vector a text, and unit length. Means add tokens in
 * ascending order in double and are rounded once. The maximum is that of the first token
 * that has it; a NaN counts as larger than everything, so that it is not lost.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "nn/nn.h"

enum { COLUMNS = 64 }; /* columns summed at a time */

typedef struct pool_job {
    const aoe_context *ctx;
    aoe_pooling pooling;
    aoei_tensor out;         /* [n_texts, D]; backward: dout */
    aoei_tensor first, last; /* [N, D] */
    aoei_tensor dfirst, dlast;
    const aoei_batch *batch;
} pool_job;

/* sum[n] = the sum over T rows of n columns. */
static void add_rows(double *sum, const float *h, size_t ld, size_t T, size_t n) {
    for (size_t t = 0; t < T; t++)
        for (size_t c = 0; c < n; c++)
            sum[c] += (double)h[t * ld + c];
}

/* The first row that has column c's maximum. */
static size_t max_row(const float *h, size_t ld, size_t T, size_t c) {
    size_t best = 0;
    for (size_t t = 1; t < T && !isnan(h[best * ld + c]); t++)
        if (!(h[t * ld + c] <= h[best * ld + c]))
            best = t;
    return best;
}

static void mean_columns(const pool_job *j, float *out, const float *h, const float *h0, size_t T, size_t n) {
    double sum[COLUMNS] = {0};
    add_rows(sum, h, j->last.ld, T, n);
    if (j->pooling == AOE_POOLING_FIRST_LAST_AVG)
        add_rows(sum, h0, j->first.ld, T, n);
    for (size_t c = 0; c < n; c++) {
        double v = sum[c] / (double)T;
        if (j->pooling == AOE_POOLING_CLS_LAST_AVG)
            v = (v + (double)h[c]) / 2;
        else if (j->pooling == AOE_POOLING_FIRST_LAST_AVG)
            v /= 2;
        out[c] = (float)v;
    }
}

static void forward_task(void *arg, size_t task, size_t worker) {
    const pool_job *j = arg;
    (void)worker;
    const size_t begin = j->batch->offsets[task], T = j->batch->offsets[task + 1] - begin, D = j->out.cols;
    const float *h = j->last.data + begin * j->last.ld;
    float *out = j->out.data + task * j->out.ld;
    switch (j->pooling) {
    case AOE_POOLING_CLS:
        memcpy(out, h, D * sizeof *out);
        break;
    case AOE_POOLING_LAST_TOKEN:
        memcpy(out, h + (T - 1) * j->last.ld, D * sizeof *out);
        break;
    case AOE_POOLING_LAST_MAX:
        for (size_t c = 0; c < D; c++)
            out[c] = h[max_row(h, j->last.ld, T, c) * j->last.ld + c];
        break;
    default: {
        const float *h0 = j->pooling == AOE_POOLING_FIRST_LAST_AVG ? j->first.data + begin * j->first.ld : NULL;
        for (size_t c = 0; c < D; c += COLUMNS)
            mean_columns(j, out + c, h + c, h0 ? h0 + c : NULL, T, D - c < COLUMNS ? D - c : COLUMNS);
    }
    }
}

void aoei_pool_forward(const aoe_context *ctx, aoei_tensor out, aoe_pooling pooling, aoei_tensor first, aoei_tensor last,
                       const aoei_batch *batch) {
    assert(pooling > AOE_POOLING_AUTO && pooling < AOE_POOLING_COUNT);
    pool_job j = {.ctx = ctx, .pooling = pooling, .out = out, .first = first, .last = last, .batch = batch};
    aoei_parallel_for(ctx->pool, batch->n_texts, forward_task, &j);
}

/* to[T, D] = from[D] * share in every row */
static void spread(aoei_tensor to, size_t begin, size_t T, const float *from, double share) {
    for (size_t t = 0; t < T; t++)
        for (size_t c = 0; c < to.cols; c++)
            to.data[(begin + t) * to.ld + c] = (float)((double)from[c] * share);
}

static void backward_task(void *arg, size_t task, size_t worker) {
    const pool_job *j = arg;
    (void)worker;
    const size_t begin = j->batch->offsets[task], T = j->batch->offsets[task + 1] - begin, D = j->out.cols;
    const float *dout = j->out.data + task * j->out.ld;
    float *d = j->dlast.data + begin * j->dlast.ld;
    const double half_share = 0.5 / (double)T;
    switch (j->pooling) {
    case AOE_POOLING_LAST_AVG:
        spread(j->dlast, begin, T, dout, 1 / (double)T);
        return;
    case AOE_POOLING_FIRST_LAST_AVG:
        spread(j->dlast, begin, T, dout, half_share);
        spread(j->dfirst, begin, T, dout, half_share);
        return;
    case AOE_POOLING_CLS_LAST_AVG:
        spread(j->dlast, begin, T, dout, half_share);
        for (size_t c = 0; c < D; c++)
            d[c] = (float)((double)dout[c] * (0.5 + half_share));
        return;
    default:
        break;
    }
    for (size_t t = 0; t < T; t++)
        memset(d + t * j->dlast.ld, 0, D * sizeof *d);
    if (j->pooling == AOE_POOLING_LAST_MAX) {
        const float *h = j->last.data + begin * j->last.ld;
        for (size_t c = 0; c < D; c++)
            d[max_row(h, j->last.ld, T, c) * j->dlast.ld + c] = dout[c];
    } else {
        memcpy(j->pooling == AOE_POOLING_CLS ? d : d + (T - 1) * j->dlast.ld, dout, D * sizeof *d);
    }
}

void aoei_pool_backward(const aoe_context *ctx, aoei_tensor dfirst, aoei_tensor dlast, aoe_pooling pooling, aoei_tensor dout,
                        aoei_tensor last, const aoei_batch *batch) {
    assert(pooling > AOE_POOLING_AUTO && pooling < AOE_POOLING_COUNT);
    pool_job j = {.ctx = ctx, .pooling = pooling, .out = dout, .last = last, .dfirst = dfirst, .dlast = dlast, .batch = batch};
    aoei_parallel_for(ctx->pool, batch->n_texts, backward_task, &j);
}

static void normalize_task(void *arg, size_t task, size_t worker) {
    const aoei_tensor *t = arg;
    (void)worker;
    float *x = t->data + task * t->ld;
    double squares = 0;
    for (size_t c = 0; c < t->cols; c++)
        squares += (double)x[c] * (double)x[c];
    const double norm = sqrt(squares), divisor = norm < 1e-12 ? 1e-12 : norm;
    for (size_t c = 0; c < t->cols; c++)
        x[c] = (float)((double)x[c] / divisor);
}

void aoei_l2_normalize(const aoe_context *ctx, aoei_tensor t) {
    aoei_parallel_for(ctx->pool, t.rows, normalize_task, &t);
}
