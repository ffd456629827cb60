/* SPDX-License-Identifier: MIT
 * Copies or adds rows between a larger and a smaller matrix, for example for model heads that process only a few
 * tokens.
 */
#include "nn/rows.h"

#include <assert.h>
#include <string.h>

#include "kernels/kernel_table.h"

enum { ROWS = 64 /* rows per task */ };

typedef struct rows_job {
    const aoe_context *ctx;
    aoei_tensor to, from;
    const uint32_t *index; /* [n] for each row of the smaller matrix, the index of a row of the larger matrix;
                              borrowed */
    size_t n;              /* number of rows in the smaller matrix */
} rows_job;

/* Copies row index[i] of `from` to row i of `to`, for each row i of a task. */
static void gather_task(void *arg, size_t task, size_t worker) {
    const rows_job *j = arg;
    const size_t first = task * ROWS, end = first + ROWS < j->n ? first + ROWS : j->n;
    const size_t bytes = j->to.cols * aoei_dtype_size(j->to.type);
    (void)worker;
    for (size_t i = first; i < end; i++)
        if (j->index[i] == AOEI_NO_ROW)
            memset(aoei_tensor_at(j->to, i, 0), 0, bytes);
        else
            memcpy(aoei_tensor_at(j->to, i, 0), aoei_tensor_at(j->from, j->index[i], 0), bytes);
}

void aoei_rows_gather(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index) {
    assert(to.type == from.type && to.cols == from.cols);
    rows_job j = {.to = to, .from = from, .index = index, .n = to.rows};
    aoei_parallel_for(ctx->pool, (j.n + ROWS - 1) / ROWS, gather_task, &j);
}

/* Copies row i of `from` to row index[i] of `to`, for each row i of a task. */
static void scatter_task(void *arg, size_t task, size_t worker) {
    const rows_job *j = arg;
    const size_t first = task * ROWS, end = first + ROWS < j->n ? first + ROWS : j->n;
    const size_t bytes = j->to.cols * aoei_dtype_size(j->to.type);
    (void)worker;
    for (size_t i = first; i < end; i++)
        if (j->index[i] != AOEI_NO_ROW)
            memcpy(aoei_tensor_at(j->to, j->index[i], 0), aoei_tensor_at(j->from, i, 0), bytes);
}

void aoei_rows_put(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index) {
    assert(to.type == from.type && to.cols == from.cols);
    rows_job j = {.to = to, .from = from, .index = index, .n = from.rows};
    aoei_parallel_for(ctx->pool, (j.n + ROWS - 1) / ROWS, scatter_task, &j);
}

void aoei_rows_scatter(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index) {
    aoei_tensor_zero(ctx, to);
    aoei_rows_put(ctx, to, from, index);
}

static void clear_task(void *arg, size_t task, size_t worker) {
    const rows_job *j = arg;
    const size_t first = task * ROWS, end = first + ROWS < j->n ? first + ROWS : j->n;
    (void)worker;
    for (size_t i = first; i < end; i++)
        memset(aoei_tensor_at(j->to, j->index[i], 0), 0, j->to.cols * aoei_dtype_size(j->to.type));
}

void aoei_rows_clear(const aoe_context *ctx, aoei_tensor to, const uint32_t *index, size_t n) {
    rows_job j = {.to = to, .index = index, .n = n};
    aoei_parallel_for(ctx->pool, (n + ROWS - 1) / ROWS, clear_task, &j);
}

/* Adds row i of `from` to row index[i] of `to`, for each row i of a task. */
static void add_task(void *arg, size_t task, size_t worker) {
    const rows_job *j = arg;
    const size_t first = task * ROWS, end = first + ROWS < j->n ? first + ROWS : j->n;
    (void)worker;
    for (size_t i = first; i < end; i++) {
        float *to = aoei_tensor_at(j->to, j->index[i], 0);
        aoei_kernels_of(j->ctx)->add_f32(to, to, aoei_tensor_at(j->from, i, 0), j->to.cols);
    }
}

void aoei_rows_add(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index) {
    assert(to.type == AOEI_F32 && from.type == AOEI_F32 && to.cols == from.cols);
    rows_job j = {.ctx = ctx, .to = to, .from = from, .index = index, .n = from.rows};
    aoei_parallel_for(ctx->pool, (j.n + ROWS - 1) / ROWS, add_task, &j);
}
