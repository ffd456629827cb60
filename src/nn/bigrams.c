/* SPDX-License-Identifier: MIT
 * Bigram embeddings. A task of the forward pass processes a text. The gradients of the table are added in token order,
 * so each task of the backward pass processes all tokens, for a few columns.
 */
#include "nn/bigrams.h"

#include <string.h>

#include "kernels/kernel_table.h"

enum { COLUMNS = 64 /* columns per backward task */ };

typedef struct bigram_job {
    const aoe_context *ctx;
    aoei_tensor x;     /* [N, D] vectors of the tokens, or their gradients */
    aoei_tensor table; /* [K, D] bigram embeddings, or their gradients */
    const aoei_batch *batch;
} bigram_job;

size_t aoei_bigram_row(int32_t first, int32_t second, size_t rows) {
    /* the finalizer of MurmurHash3, which is in the public domain */
    uint64_t h = (uint64_t)(uint32_t)first << 32 | (uint32_t)second;
    h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (size_t)((h ^ h >> 33) & (rows - 1));
}

/* Returns the row of the bigram of tokens t and t + 1. */
static size_t row_of(const bigram_job *j, size_t t) {
    return aoei_bigram_row(j->batch->ids[t], j->batch->ids[t + 1], j->table.rows);
}

/* Multiplies the vectors of the tokens of a text by n / (2 n - 1). */
static void scale_text(const bigram_job *j, size_t text) {
    const size_t first = j->batch->offsets[text], end = j->batch->offsets[text + 1], n = end - first;
    const float scale = (float)((double)n / (double)(2 * n - 1));
    for (size_t t = first; t < end; t++) {
        float *x = aoei_tensor_at(j->x, t, 0);
        for (size_t k = 0; k < j->x.cols; k++)
            x[k] *= scale;
    }
}

static void forward_task(void *arg, size_t text, size_t worker) {
    const bigram_job *j = arg;
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    const size_t first = j->batch->offsets[text], end = j->batch->offsets[text + 1], D = j->x.cols;
    float *row = aoei_worker_scratch(j->ctx, worker);
    for (size_t t = first; t + 1 < end; t++) {
        const size_t r = row_of(j, t);
        const void *from = aoei_tensor_at(j->table, r, 0);
        if (j->table.type == AOEI_F32)
            memcpy(row, from, D * sizeof *row);
        else if (j->table.type == AOEI_BF16)
            k->from_bf16(row, from, D);
        else
            k->from_int8(row, from, j->table.scale[r], D);
        k->add_f32(aoei_tensor_at(j->x, t, 0), aoei_tensor_at(j->x, t, 0), row, D);
    }
    scale_text(j, text);
}

void aoei_bigrams_forward(const aoe_context *ctx, aoei_tensor x, aoei_tensor table, const aoei_batch *batch) {
    bigram_job j = {.ctx = ctx, .x = x, .table = table, .batch = batch};
    aoei_parallel_for(ctx->pool, batch->n_texts, forward_task, &j);
}

static void scale_task(void *arg, size_t text, size_t worker) {
    (void)worker;
    scale_text(arg, text);
}

/* Adds the gradients of the bigrams of all texts to the gradient of the table, in COLUMNS columns. */
static void table_task(void *arg, size_t task, size_t worker) {
    const bigram_job *j = arg;
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    const size_t first = task * COLUMNS, left = j->x.cols - first, n = left < COLUMNS ? left : COLUMNS;
    (void)worker;
    for (size_t text = 0; text < j->batch->n_texts; text++)
        for (size_t t = j->batch->offsets[text]; t + 1 < j->batch->offsets[text + 1]; t++) {
            float *d = aoei_tensor_at(j->table, row_of(j, t), first);
            k->add_f32(d, d, aoei_tensor_at(j->x, t, first), n);
        }
}

void aoei_bigrams_backward(const aoe_context *ctx, aoei_tensor dy, aoei_tensor dtable, const aoei_batch *batch) {
    bigram_job j = {.ctx = ctx, .x = dy, .table = dtable, .batch = batch};
    aoei_parallel_for(ctx->pool, batch->n_texts, scale_task, &j);
    if (dtable.data)
        aoei_parallel_for(ctx->pool, (dy.cols + COLUMNS - 1) / COLUMNS, table_task, &j);
}
