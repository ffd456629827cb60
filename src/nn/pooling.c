/* SPDX-License-Identifier: MIT
 * Pooling of token vectors into one vector per text, and L2 normalization. A mean is computed in double, in ascending
 * order of the tokens, and rounded once. If several tokens have the maximum, the first one is used. In comparisons for
 * the maximum, NaN is larger than every number, so that NaN values propagate.
 */
#include "nn/pooling.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "kernels/kernel_table.h"

enum { COLUMNS = 64 }; /* columns of a mean that are computed at a time */

/* the poolings that can be concatenated, in the order of their vectors */
static const aoe_pooling parts[] = {AOE_POOLING_CLS,           AOE_POOLING_LAST_MAX,      AOE_POOLING_LAST_AVG,
                                    AOE_POOLING_MEAN_SQRT_LEN, AOE_POOLING_WEIGHTED_MEAN, AOE_POOLING_LAST_TOKEN};
enum { N_PARTS = sizeof parts / sizeof *parts };

size_t aoei_pooling_parts(aoe_pooling pooling) {
    size_t n = 0;
    for (size_t i = 0; i < N_PARTS; i++)
        n += (unsigned)pooling >> i & 1;
    return pooling >= AOE_POOLING_CONCAT ? n : 1;
}

aoe_pooling aoei_pooling_part(aoe_pooling pooling, size_t i) {
    for (size_t p = 0; p < N_PARTS && pooling >= AOE_POOLING_CONCAT; p++)
        if (((unsigned)pooling >> p & 1) && i-- == 0)
            return parts[p];
    return pooling;
}

/* The tokens of one text that are pooled: the T rows that begin with `begin`. `skipped` rows precede them. */
typedef struct pooled_rows {
    size_t begin, T, skipped;
} pooled_rows;

static pooled_rows rows_of(const aoei_batch *b, size_t text) {
    const size_t begin = b->offsets[text], T = b->offsets[text + 1] - begin;
    const size_t skipped = !b->skipped ? 0 : b->skipped[text] < T ? b->skipped[text] : T;
    return (pooled_rows){begin + skipped, T - skipped, skipped};
}

typedef struct pool_job {
    const aoe_context *ctx;
    aoe_pooling pooling;
    aoei_tensor out;           /* [n_texts, D] pooled vectors; in the backward pass, gradients of the pooled vectors */
    aoei_tensor first, last;   /* [N, D] each: embedding output; output of the last layer */
    aoei_tensor dfirst, dlast; /* [N, D] gradients of first and last */
    const aoei_batch *batch;
} pool_job;

static float element(aoei_tensor h, size_t row, size_t col) {
    return h.type == AOEI_BF16 ? aoei_bf16_to_f32(aoei_b16(h)[row * h.ld + col]) : aoei_f32(h)[row * h.ld + col];
}

/* Converts columns [first, first + n) of a row of h to float32 and writes them to out[n]. */
static void read_row(const aoe_context *ctx, float *out, aoei_tensor h, size_t row, size_t first, size_t n) {
    if (h.type == AOEI_BF16)
        aoei_kernels_of(ctx)->from_bf16(out, aoei_tensor_at(h, row, first), n);
    else
        memcpy(out, aoei_tensor_at(h, row, first), n * sizeof *out);
}

/* Adds columns [first, first + n) of rows [begin, begin + T) to sum[n]. */
static void add_rows(const aoe_context *ctx, double *sum, aoei_tensor h, size_t begin, size_t T, size_t first,
                     size_t n) {
    float row[COLUMNS];
    for (size_t t = 0; t < T; t++) {
        read_row(ctx, row, h, begin + t, first, n);
        for (size_t c = 0; c < n; c++)
            sum[c] += (double)row[c];
    }
}

/* Returns the sum of the positions of the tokens, which are the weights of weighted-mean pooling. Positions begin with
 * 1. */
static double sum_positions(pooled_rows r) {
    const double last = (double)(r.skipped + r.T), skipped = (double)r.skipped;
    return last * (last + 1) / 2 - skipped * (skipped + 1) / 2;
}

/* Returns the factor of token t of the rows r in the pooled vector, for a pooling that is a weighted sum. */
static double factor(aoe_pooling pooling, size_t t, pooled_rows r) {
    const size_t T = r.T;
    switch (pooling) {
    case AOE_POOLING_CLS:
        return t == 0;
    case AOE_POOLING_LAST_TOKEN:
        return t + 1 == T;
    case AOE_POOLING_MEAN_SQRT_LEN:
        return 1 / sqrt((double)T);
    case AOE_POOLING_WEIGHTED_MEAN:
        return (double)(r.skipped + t + 1) / sum_positions(r);
    default:
        return 1 / (double)T;
    }
}

/* Computes columns [first, first + n) of the weighted mean of one text, whose tokens are the rows r. */
static void weighted_columns(const pool_job *j, float *out, pooled_rows r, size_t first, size_t n) {
    double sum[COLUMNS] = {0};
    float row[COLUMNS];
    for (size_t t = 0; t < r.T; t++) {
        read_row(j->ctx, row, j->last, r.begin + t, first, n);
        for (size_t c = 0; c < n; c++)
            sum[c] += (double)(r.skipped + t + 1) * (double)row[c];
    }
    for (size_t c = 0; c < n; c++)
        out[c] = (float)(sum[c] / sum_positions(r));
}

/* Returns the index of the first row in [begin, begin + T) that contains the maximum of column c over these rows. */
static size_t max_row(aoei_tensor h, size_t begin, size_t T, size_t c) {
    size_t best = begin;
    for (size_t t = begin + 1; t < begin + T && !isnan(element(h, best, c)); t++)
        if (!(element(h, t, c) <= element(h, best, c)))
            best = t;
    return best;
}

/* Computes columns [first, first + n) of the pooled vector of one text, whose tokens are rows [begin, begin + T). Used
 * for the modes that compute a mean. */
static void mean_columns(const pool_job *j, float *out, size_t begin, size_t T, size_t first, size_t n) {
    double sum[COLUMNS] = {0};
    add_rows(j->ctx, sum, j->last, begin, T, first, n);
    if (j->pooling == AOE_POOLING_FIRST_LAST_AVG)
        add_rows(j->ctx, sum, j->first, begin, T, first, n);
    for (size_t c = 0; c < n; c++) {
        double v = sum[c] / (j->pooling == AOE_POOLING_MEAN_SQRT_LEN ? sqrt((double)T) : (double)T);
        if (j->pooling == AOE_POOLING_CLS_LAST_AVG)
            v = (v + (double)element(j->last, begin, first + c)) / 2;
        else if (j->pooling == AOE_POOLING_FIRST_LAST_AVG)
            v /= 2;
        out[c] = (float)v;
    }
}

/* Computes the pooled vector of one text. If the pooling excludes all tokens, the vector is zero. */
static void forward_task(void *arg, size_t task, size_t worker) {
    const pool_job *j = arg;
    (void)worker;
    const pooled_rows r = rows_of(j->batch, task);
    const size_t begin = r.begin, T = r.T, D = j->out.cols;
    float *out = aoei_tensor_at(j->out, task, 0);
    if (!T) {
        memset(out, 0, D * sizeof *out);
        return;
    }
    switch (j->pooling) {
    case AOE_POOLING_CLS:
        read_row(j->ctx, out, j->last, begin, 0, D);
        break;
    case AOE_POOLING_LAST_TOKEN:
        read_row(j->ctx, out, j->last, begin + T - 1, 0, D);
        break;
    case AOE_POOLING_LAST_MAX:
        for (size_t c = 0; c < D; c++)
            out[c] = element(j->last, max_row(j->last, begin, T, c), c);
        break;
    case AOE_POOLING_WEIGHTED_MEAN:
        for (size_t c = 0; c < D; c += COLUMNS)
            weighted_columns(j, out + c, r, c, D - c < COLUMNS ? D - c : COLUMNS);
        break;
    case AOE_POOLING_CLS_LAST_AVG:
    case AOE_POOLING_LAST_AVG:
    case AOE_POOLING_LAST_TWO_AVG:
    case AOE_POOLING_LAYER1_LAST_AVG:
    case AOE_POOLING_FIRST_LAST_AVG:
    case AOE_POOLING_MEAN_SQRT_LEN:
        for (size_t c = 0; c < D; c += COLUMNS)
            mean_columns(j, out + c, begin, T, c, D - c < COLUMNS ? D - c : COLUMNS);
        break;
    default:
        assert(0 && "a pooling over tokens");
    }
}

void aoei_pool_forward(const aoe_context *ctx, aoei_tensor out, aoe_pooling pooling, aoei_tensor first,
                       aoei_tensor last, const aoei_batch *batch) {
    assert(pooling > AOE_POOLING_AUTO && aoei_pooling_over_tokens(pooling) && pooling != AOE_POOLING_MASK);
    const size_t n = aoei_pooling_parts(pooling), D = out.cols / n;
    for (size_t i = 0; i < n; i++) {
        pool_job j = {.ctx = ctx,
                      .pooling = aoei_pooling_part(pooling, i),
                      .out = n == 1 ? out : aoei_tensor_cols(out, i * D, D),
                      .first = first,
                      .last = last,
                      .batch = batch};
        aoei_parallel_for(ctx->pool, batch->n_texts, forward_task, &j);
    }
}

/* Sets each of the rows [begin, begin + T) of `to` to share * from[D]. */
static void spread(aoei_tensor to, size_t begin, size_t T, const float *from, double share) {
    for (size_t t = 0; t < T; t++) {
        float *row = aoei_tensor_at(to, begin + t, 0);
        for (size_t c = 0; c < to.cols; c++)
            row[c] = (float)((double)from[c] * share);
    }
}

/* Sets the gradients of the rows before r, which the pooling excludes, to 0. */
static void clear_skipped(aoei_tensor d, pooled_rows r) {
    for (size_t t = r.begin - r.skipped; t < r.begin; t++)
        memset(aoei_tensor_at(d, t, 0), 0, d.cols * sizeof(float));
}

/* Computes the gradients of the tokens of one text. */
static void backward_task(void *arg, size_t task, size_t worker) {
    const pool_job *j = arg;
    (void)worker;
    const pooled_rows r = rows_of(j->batch, task);
    const size_t begin = r.begin, T = r.T, D = j->out.cols;
    const float *dout = aoei_tensor_at(j->out, task, 0);
    float *d = aoei_f32(j->dlast) + begin * j->dlast.ld;
    clear_skipped(j->dlast, r);
    if (j->pooling == AOE_POOLING_FIRST_LAST_AVG)
        clear_skipped(j->dfirst, r);
    if (!T)
        return;
    const double half_share = 0.5 / (double)T;
    if (j->pooling == AOE_POOLING_CLS || j->pooling == AOE_POOLING_LAST_TOKEN || j->pooling == AOE_POOLING_LAST_MAX)
        for (size_t t = 0; t < T; t++)
            memset(d + t * j->dlast.ld, 0, D * sizeof *d);
    switch (j->pooling) {
    case AOE_POOLING_CLS:
        memcpy(d, dout, D * sizeof *d);
        break;
    case AOE_POOLING_LAST_TOKEN:
        memcpy(d + (T - 1) * j->dlast.ld, dout, D * sizeof *d);
        break;
    case AOE_POOLING_LAST_MAX:
        for (size_t c = 0; c < D; c++)
            d[(max_row(j->last, begin, T, c) - begin) * j->dlast.ld + c] = dout[c];
        break;
    case AOE_POOLING_LAST_AVG:
    case AOE_POOLING_LAST_TWO_AVG:
    case AOE_POOLING_LAYER1_LAST_AVG:
    case AOE_POOLING_MEAN_SQRT_LEN:
        spread(j->dlast, begin, T, dout, factor(j->pooling, 0, r));
        break;
    case AOE_POOLING_WEIGHTED_MEAN:
        for (size_t t = 0; t < T; t++)
            spread(j->dlast, begin + t, 1, dout, factor(j->pooling, t, r));
        break;
    case AOE_POOLING_FIRST_LAST_AVG:
        spread(j->dlast, begin, T, dout, half_share);
        spread(j->dfirst, begin, T, dout, half_share);
        break;
    case AOE_POOLING_CLS_LAST_AVG:
        spread(j->dlast, begin, T, dout, half_share);
        for (size_t c = 0; c < D; c++)
            d[c] = (float)((double)dout[c] * (0.5 + half_share));
        break;
    default:
        assert(0 && "a pooling over tokens");
    }
}

/* Computes the gradients of the tokens of one text for a concatenation. The gradient of an element is one sum over the
 * parts, in double; the gradient of the maximum is added last. */
static void backward_concat_task(void *arg, size_t task, size_t worker) {
    const pool_job *j = arg;
    (void)worker;
    const pooled_rows r = rows_of(j->batch, task);
    const size_t begin = r.begin, T = r.T, D = j->dlast.cols;
    const size_t n = aoei_pooling_parts(j->pooling);
    const float *dout = aoei_tensor_at(j->out, task, 0);
    clear_skipped(j->dlast, r);
    if (!T)
        return;
    for (size_t t = 0; t < T; t++) {
        float *row = aoei_tensor_at(j->dlast, begin + t, 0);
        for (size_t c = 0; c < D; c++) {
            double sum = 0;
            for (size_t i = 0; i < n; i++)
                if (aoei_pooling_part(j->pooling, i) != AOE_POOLING_LAST_MAX)
                    sum += (double)dout[i * D + c] * factor(aoei_pooling_part(j->pooling, i), t, r);
            row[c] = (float)sum;
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < D && aoei_pooling_part(j->pooling, i) == AOE_POOLING_LAST_MAX; c++)
            aoei_f32(j->dlast)[max_row(j->last, begin, T, c) * j->dlast.ld + c] += dout[i * D + c];
}

void aoei_pool_backward(const aoe_context *ctx, aoei_tensor dfirst, aoei_tensor dlast, aoe_pooling pooling,
                        aoei_tensor dout, aoei_tensor last, const aoei_batch *batch) {
    assert(pooling > AOE_POOLING_AUTO && aoei_pooling_over_tokens(pooling) && pooling != AOE_POOLING_MASK);
    pool_job j = {
        .ctx = ctx, .pooling = pooling, .out = dout, .last = last, .dfirst = dfirst, .dlast = dlast, .batch = batch};
    aoei_parallel_for(ctx->pool, batch->n_texts, pooling >= AOE_POOLING_CONCAT ? backward_concat_task : backward_task,
                      &j);
}

typedef struct token_job {
    const aoe_context *ctx;
    aoei_tensor pooled; /* [n_texts, D] pooled vectors, or their gradients */
    aoei_tensor tokens; /* [N, D] token vectors, or their gradients */
    const aoei_batch *batch;
    int32_t id;
} token_job;

/* Returns the index of the first token of a text with the id of the job, or the index after the last token of the
 * text. */
static size_t find_token(const token_job *j, size_t text) {
    size_t t = j->batch->offsets[text];
    while (t < j->batch->offsets[text + 1] && j->batch->ids[t] != j->id)
        t++;
    return t;
}

static void token_forward_task(void *arg, size_t text, size_t worker) {
    const token_job *j = arg;
    const size_t t = find_token(j, text), D = j->pooled.cols;
    float *out = aoei_tensor_at(j->pooled, text, 0);
    (void)worker;
    if (t < j->batch->offsets[text + 1])
        read_row(j->ctx, out, j->tokens, t, 0, D);
    else
        memset(out, 0, D * sizeof *out);
}

static void token_backward_task(void *arg, size_t text, size_t worker) {
    const token_job *j = arg;
    const size_t found = find_token(j, text), D = j->pooled.cols;
    (void)worker;
    for (size_t t = j->batch->offsets[text]; t < j->batch->offsets[text + 1]; t++)
        if (t == found)
            memcpy(aoei_tensor_at(j->tokens, t, 0), aoei_tensor_at(j->pooled, text, 0), D * sizeof(float));
        else
            memset(aoei_tensor_at(j->tokens, t, 0), 0, D * sizeof(float));
}

void aoei_pool_token_forward(const aoe_context *ctx, aoei_tensor out, aoei_tensor last, const aoei_batch *batch,
                             int32_t id) {
    token_job j = {.ctx = ctx, .pooled = out, .tokens = last, .batch = batch, .id = id};
    aoei_parallel_for(ctx->pool, batch->n_texts, token_forward_task, &j);
}

void aoei_pool_token_backward(const aoe_context *ctx, aoei_tensor dlast, aoei_tensor dout, const aoei_batch *batch,
                              int32_t id) {
    token_job j = {.ctx = ctx, .pooled = dout, .tokens = dlast, .batch = batch, .id = id};
    aoei_parallel_for(ctx->pool, batch->n_texts, token_backward_task, &j);
}

/* Scales one row to unit length. If its length is less than 1e-12, the row is divided by 1e-12. */
static void normalize_task(void *arg, size_t task, size_t worker) {
    const aoei_tensor *t = arg;
    (void)worker;
    float *x = aoei_tensor_at(*t, task, 0);
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
