/* SPDX-License-Identifier: MIT
 * Dropout of rows that belong to tokens, and addition of an optional residual. The mask of a row depends only on the
 * key, the site (see dropout.h), the text and the token, so any thread can compute it.
 */
#include "nn/dropout.h"

#include "kernels/kernel_table.h"

enum { BLOCK_ELEMENTS = 16384 }; /* approximate number of elements in a block of rows */

/* Arguments of the tasks of aoei_dropout_add. */
typedef struct dropout_job {
    const aoe_context *ctx;
    aoei_tensor y, x, residual; /* [N, D] each: output, input, and residual, which may be absent */
    const aoei_batch *batch;    /* batch whose tokens are the rows of y, x and residual */
    const aoei_dropout *drop;
    size_t rows_per_task;
} dropout_job;

size_t aoei_batch_text(const aoei_batch *b, size_t row) {
    size_t low = 0, high = b->n_texts - 1;
    while (low < high) {
        const size_t middle = (low + high + 1) / 2;
        if (b->offsets[middle] <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

aoei_dropout_row aoei_dropout_token(const aoei_dropout *drop, const aoei_batch *b, size_t text, size_t row) {
    return (aoei_dropout_row){
        .key = {drop->key[0], drop->key[1]},
        .counter = {0, (b->first ? b->first[text] : 0) + (uint32_t)(row - b->offsets[text]),
                    b->text_index ? b->text_index[text] : (uint32_t)text, drop->site << 16},
        .threshold = (uint32_t)(drop->p * 4294967296.0),
        .scale = (float)(1.0 / (1.0 - drop->p)),
    };
}

/* Computes y = dropout(x) + residual for row r, with the masks of *d. If residual is absent, computes y =
 * dropout(x). */
static void drop_row(const dropout_job *j, size_t r, const aoei_dropout_row *d) {
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    void *y = aoei_tensor_at(j->y, r, 0), *x = aoei_tensor_at(j->x, r, 0),
         *residual = aoei_tensor_at(j->residual, r, 0);
    if (j->y.type == AOEI_F32)
        k->dropout_f32(y, x, residual, d, j->y.cols);
    else if (j->x.type == AOEI_BF16)
        k->dropout_bf16(y, x, residual, d, j->y.cols);
    else
        k->dropout_to_bf16(y, x, d, j->y.cols);
}

static void dropout_task(void *arg, size_t task, size_t worker) {
    const dropout_job *j = arg;
    const aoei_batch *b = j->batch;
    (void)worker;
    const size_t first = task * j->rows_per_task;
    const size_t end = first + j->rows_per_task < j->y.rows ? first + j->rows_per_task : j->y.rows;
    size_t text = aoei_batch_text(b, first);
    for (size_t r = first; r < end; r++) {
        while (r >= b->offsets[text + 1])
            text++;
        const aoei_dropout_row d = aoei_dropout_token(j->drop, b, text, r);
        drop_row(j, r, &d);
    }
}

/* Computes y = x + residual for a block of rows. Used if the dropout probability is 0. */
static void add_task(void *arg, size_t task, size_t worker) {
    const dropout_job *j = arg;
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    const size_t first = task * j->rows_per_task, cols = j->y.cols;
    const size_t end = first + j->rows_per_task < j->y.rows ? first + j->rows_per_task : j->y.rows;
    float *a = aoei_worker_scratch(j->ctx, worker), *b = a + cols;
    for (size_t r = first; r < end; r++) {
        void *y = aoei_tensor_at(j->y, r, 0), *x = aoei_tensor_at(j->x, r, 0),
             *residual = aoei_tensor_at(j->residual, r, 0);
        if (j->y.type == AOEI_F32) {
            k->add_f32(y, residual, x, cols);
            continue;
        }
        k->from_bf16(a, residual, cols);
        k->from_bf16(b, x, cols);
        k->add_f32(a, a, b, cols);
        k->to_bf16(y, a, cols);
    }
}

void aoei_dropout_add(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor residual,
                      const aoei_batch *batch, const aoei_dropout *drop) {
    dropout_job j = {.ctx = ctx, .y = y, .x = x, .residual = residual, .batch = batch, .drop = drop};
    if (drop->p == 0 && !residual.data) {
        if (y.data != x.data)
            aoei_tensor_copy(ctx, y, x);
        return;
    }
    j.rows_per_task = y.cols < BLOCK_ELEMENTS ? BLOCK_ELEMENTS / y.cols : 1;
    aoei_parallel_for(ctx->pool, (y.rows + j.rows_per_task - 1) / j.rows_per_task,
                      drop->p > 0 ? dropout_task : add_task, &j);
}
