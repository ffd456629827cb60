/* SPDX-License-Identifier: MIT
 * The embedding layer. The forward pass reads rows of the embedding tables and adds them. The backward pass adds the
 * gradients of all tokens in token order. Each of its tasks therefore processes all tokens, for a few columns.
 */
#include "nn/embedding.h"

#include <string.h>

#include "kernels/kernel_table.h"

enum {
    ROWS = 16,   /* tokens per forward task */
    COLUMNS = 64 /* columns per backward task */
};

typedef struct embedding_job {
    const aoe_context *ctx;
    aoei_tensor y;                          /* [N, D] output; in the backward pass, gradient of the output */
    aoei_tensor word, position, token_type; /* embedding tables; in the backward pass, gradients of the tables */
    size_t position_offset;
    const aoei_batch *batch;
} embedding_job;

/* Returns the row of the token type table for token i. */
static size_t type_row(const embedding_job *j, size_t i) {
    const size_t type = j->batch->types ? j->batch->types[i] : 0;
    return type < j->token_type.rows ? type : 0;
}

/* Converts one row of a table to float32 and writes it to to[D]. */
static void table_row(const embedding_job *j, float *to, aoei_tensor table, size_t row) {
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    const void *from = aoei_tensor_at(table, row, 0);
    if (table.type == AOEI_F32)
        memcpy(to, from, table.cols * sizeof *to);
    else if (table.type == AOEI_BF16)
        k->from_bf16(to, from, table.cols);
    else
        k->from_int8(to, from, table.scale[row], table.cols);
}

/* Computes the sum of the embeddings for each of ROWS tokens. */
static void forward_task(void *arg, size_t task, size_t worker) {
    const embedding_job *j = arg;
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    const size_t D = j->y.cols, first = task * ROWS, end = first + ROWS < j->y.rows ? first + ROWS : j->y.rows;
    /* `sum` contains a row of the output if y is not float32; `row` contains a row of a table */
    float *sum = aoei_worker_scratch(j->ctx, worker), *row = sum + D;
    for (size_t i = first; i < end; i++) {
        float *y = j->y.type == AOEI_F32 ? aoei_tensor_at(j->y, i, 0) : sum;
        table_row(j, y, j->word, (size_t)j->batch->ids[i]);
        if (j->position.data) {
            table_row(j, row, j->position, j->batch->positions[i] + j->position_offset);
            k->add_f32(y, y, row, D);
        }
        if (j->token_type.data) {
            table_row(j, row, j->token_type, type_row(j, i));
            k->add_f32(y, y, row, D);
        }
        if (j->y.type == AOEI_BF16)
            k->to_bf16(aoei_tensor_at(j->y, i, 0), y, D);
    }
}

void aoei_embedding_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor word, aoei_tensor position,
                            size_t position_offset, aoei_tensor token_type, const aoei_batch *batch) {
    embedding_job j = {.ctx = ctx,
                       .y = y,
                       .word = word,
                       .position = position,
                       .token_type = token_type,
                       .position_offset = position_offset,
                       .batch = batch};
    aoei_parallel_for(ctx->pool, (y.rows + ROWS - 1) / ROWS, forward_task, &j);
}

/* Adds the gradients of all tokens to the gradients of the tables, in COLUMNS columns. */
static void backward_task(void *arg, size_t task, size_t worker) {
    const embedding_job *j = arg;
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    const size_t first = task * COLUMNS, left = j->y.cols - first, n = left < COLUMNS ? left : COLUMNS;
    (void)worker;
    for (size_t i = 0; i < j->y.rows; i++) {
        const float *dy = aoei_tensor_at(j->y, i, first);
        if (j->word.data) {
            float *d = aoei_tensor_at(j->word, (size_t)j->batch->ids[i], first);
            k->add_f32(d, d, dy, n);
        }
        if (j->position.data) {
            float *d = aoei_tensor_at(j->position, j->batch->positions[i] + j->position_offset, first);
            k->add_f32(d, d, dy, n);
        }
        if (j->token_type.data && j->batch->types) {
            float *d = aoei_tensor_at(j->token_type, type_row(j, i), first);
            k->add_f32(d, d, dy, n);
        }
    }
    if (j->token_type.data && !j->batch->types)
        k->column_sum_f32(aoei_f32(j->token_type) + first, aoei_f32(j->y) + first, j->y.ld, j->y.rows, n);
}

void aoei_embedding_backward(const aoe_context *ctx, aoei_tensor dword, aoei_tensor dposition, size_t position_offset,
                             aoei_tensor dtoken_type, aoei_tensor dy, const aoei_batch *batch) {
    embedding_job j = {.ctx = ctx,
                       .y = dy,
                       .word = dword,
                       .position = dposition,
                       .token_type = dtoken_type,
                       .position_offset = position_offset,
                       .batch = batch};
    aoei_parallel_for(ctx->pool, (dy.cols + COLUMNS - 1) / COLUMNS, backward_task, &j);
}
