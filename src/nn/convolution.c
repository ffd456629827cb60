/* SPDX-License-Identifier: MIT
 * Convolutions over the tokens of each text. A task unfolds or folds the tokens of one text.
 */
#include "nn/convolution.h"

#include <assert.h>
#include <string.h>

#include "base/bf16.h"
#include "base/pool.h"
#include "nn/linear.h"

/* Arguments of the tasks that unfold x, or that fold its gradient. */
typedef struct fold_job {
    size_t kernel;        /* k */
    aoei_tensor unfolded; /* [N, D k] float32 */
    aoei_tensor x;        /* [N, D] input, or its gradient */
    const aoei_batch *batch;
} fold_job;

/* Returns element i of row t of x. */
static float value_of(aoei_tensor x, size_t t, size_t i) {
    return x.type == AOEI_BF16 ? aoei_bf16_to_f32(aoei_b16(x)[t * x.ld + i]) : aoei_f32(x)[t * x.ld + i];
}

/* Copies the windows of one text to rows of `unfolded`, ordered by component and then by offset. Positions before and
 * after the text are 0. */
static void unfold_task(void *arg, size_t text, size_t worker) {
    (void)worker;
    const fold_job *j = arg;
    const size_t first = j->batch->offsets[text], end = j->batch->offsets[text + 1], k = j->kernel, half = k / 2,
                 D = j->x.cols;
    for (size_t t = first; t < end; t++) {
        float *row = aoei_f32(j->unfolded) + t * j->unfolded.ld;
        for (size_t o = 0; o < k; o++) {
            const int inside = t + o >= first + half && t + o < end + half;
            for (size_t i = 0; i < D; i++)
                row[i * k + o] = inside ? value_of(j->x, t + o - half, i) : 0;
        }
    }
}

/* Adds the gradient of the unfolded rows of a text to the gradient of x, for each token in ascending order of the
 * offset. */
static void fold_task(void *arg, size_t text, size_t worker) {
    (void)worker;
    const fold_job *j = arg;
    const size_t first = j->batch->offsets[text], end = j->batch->offsets[text + 1], k = j->kernel, half = k / 2,
                 D = j->x.cols;
    for (size_t t = first; t < end; t++) {
        float *sum = aoei_f32(j->x) + t * j->x.ld;
        for (size_t o = 0; o < k; o++) {
            if (t + half < first + o || t + half >= end + o)
                continue;
            const float *row = aoei_f32(j->unfolded) + (t + half - o) * j->unfolded.ld;
            for (size_t i = 0; i < D; i++)
                sum[i] += row[i * k + o];
        }
    }
}

static aoei_tensor unfold(const aoe_context *ctx, const aoei_convolution *v, aoei_tensor x, const aoei_batch *batch) {
    fold_job j = {.kernel = v->kernel, .unfolded = aoei_tensor_rows(v->unfolded, 0, x.rows), .x = x, .batch = batch};
    aoei_parallel_for(ctx->pool, batch->n_texts, unfold_task, &j);
    return j.unfolded;
}

void aoei_convolution_forward(const aoe_context *ctx, const aoei_convolution *v, aoei_tensor y, aoei_tensor x,
                              const aoei_batch *batch) {
    aoei_linear_epilogue e;
    memset(&e, 0, sizeof e);
    e.workspace = v->workspace;
    assert(v->kernel % 2);
    aoei_linear_forward(ctx, y, unfold(ctx, v, x, batch), v->weight, v->bias, &e);
}

void aoei_convolution_backward(const aoe_context *ctx, const aoei_convolution *v, aoei_tensor dx, aoei_tensor dw,
                               aoei_tensor db, aoei_tensor dy, aoei_tensor x, const aoei_batch *batch) {
    const aoei_tensor unfolded = unfold(ctx, v, x, batch);
    aoei_linear_grads g;
    memset(&g, 0, sizeof g);
    g.dx = unfolded;
    g.dw = dw;
    g.db = db;
    g.workspace = v->workspace;
    aoei_linear_backward(ctx, &g, dy, unfolded, v->weight);
    fold_job j = {.kernel = v->kernel, .unfolded = unfolded, .x = dx, .batch = batch};
    aoei_parallel_for(ctx->pool, batch->n_texts, fold_task, &j);
}
