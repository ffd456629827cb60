/* SPDX-License-Identifier: MIT
 * Layer normalization. The forward pass and dx are divided into blocks of rows, because the rows are independent. The
 * parameter gradients are sums over all rows in ascending order, so each task computes a few columns of them.
 */
#include "nn/layernorm.h"

#include <string.h>

#include "kernels/kernel_table.h"

enum {
    BLOCK_ELEMENTS = 16384, /* approximate number of elements in a block of rows */
    COLUMNS = 64            /* number of columns of dgamma and dbeta that one task computes: four cache lines */
};

typedef struct norm_job {
    const aoe_context *ctx;
    /* y is the output of the forward pass; in the backward pass, y is dx, the gradient of x */
    aoei_tensor y, stats, x, gamma, beta;
    aoei_tensor dy, dgamma, dbeta; /* gradients of y, gamma and beta; absent in the forward pass */
    float eps;
    size_t rows_per_task;
} norm_job;

static size_t block_rows(size_t cols) {
    return cols < BLOCK_ELEMENTS ? BLOCK_ELEMENTS / cols : 1;
}

static size_t tasks(size_t n, size_t per_task) {
    return (n + per_task - 1) / per_task;
}

/* Returns x.cols zeros in the scratch buffer of the worker. They replace an absent beta. */
static const float *zeros(const norm_job *j, size_t worker) {
    return memset(aoei_worker_scratch(j->ctx, worker), 0, j->x.cols * sizeof(float));
}

static void forward_task(void *arg, size_t task, size_t worker) {
    const norm_job *j = arg;
    const size_t first = task * j->rows_per_task, left = j->x.rows - first;
    const size_t rows = left < j->rows_per_task ? left : j->rows_per_task;
    void *y = aoei_tensor_at(j->y, first, 0), *x = aoei_tensor_at(j->x, first, 0),
         *stats = aoei_tensor_at(j->stats, first, 0);
    const float *gamma = aoei_f32(j->gamma), *beta = j->beta.data ? aoei_f32(j->beta) : zeros(j, worker);
    if (j->x.type == AOEI_BF16)
        aoei_kernels_of(j->ctx)->layernorm_bf16(y, j->y.ld, stats, x, j->x.ld, gamma, beta, j->eps, rows, j->x.cols);
    else
        aoei_kernels_of(j->ctx)->layernorm_f32(y, j->y.ld, stats, x, j->x.ld, gamma, beta, j->eps, rows, j->x.cols);
}

void aoei_layernorm_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor stats, aoei_tensor x, aoei_tensor gamma,
                            aoei_tensor beta, double eps) {
    norm_job j = {.ctx = ctx, .y = y, .stats = stats, .x = x, .gamma = gamma, .beta = beta, .eps = (float)eps};
    j.rows_per_task = block_rows(x.cols);
    aoei_parallel_for(ctx->pool, tasks(x.rows, j.rows_per_task), forward_task, &j);
}

/* Adds the terms of all rows to COLUMNS elements of dgamma and dbeta. */
static void param_grad_task(void *arg, size_t task, size_t worker) {
    const norm_job *j = arg;
    (void)worker;
    const size_t first = task * COLUMNS, left = j->x.cols - first;
    const size_t cols = left < COLUMNS ? left : COLUMNS;
    float unused[COLUMNS] = {0}; /* sums for an absent dbeta */
    float *dgamma = aoei_f32(j->dgamma) + first, *dbeta = j->dbeta.data ? aoei_f32(j->dbeta) + first : unused;
    const float *dy = aoei_f32(j->dy) + first, *stats = aoei_f32(j->stats);
    const void *x = aoei_tensor_at(j->x, 0, first);
    if (j->x.type == AOEI_BF16)
        aoei_kernels_of(j->ctx)->layernorm_param_grad_bf16(dgamma, dbeta, dy, j->dy.ld, x, j->x.ld, stats, j->x.rows,
                                                           cols);
    else
        aoei_kernels_of(j->ctx)->layernorm_param_grad_f32(dgamma, dbeta, dy, j->dy.ld, x, j->x.ld, stats, j->x.rows,
                                                          cols);
}

/* Computes dx for a block of rows. */
static void input_grad_task(void *arg, size_t task, size_t worker) {
    const norm_job *j = arg;
    (void)worker;
    const size_t first = task * j->rows_per_task, left = j->x.rows - first;
    const size_t rows = left < j->rows_per_task ? left : j->rows_per_task;
    float *dx = aoei_tensor_at(j->y, first, 0);
    const float *dy = aoei_tensor_at(j->dy, first, 0), *stats = aoei_tensor_at(j->stats, first, 0),
                *gamma = aoei_f32(j->gamma);
    const void *x = aoei_tensor_at(j->x, first, 0);
    if (j->x.type == AOEI_BF16)
        aoei_kernels_of(j->ctx)->layernorm_grad_bf16(dx, j->y.ld, dy, j->dy.ld, x, j->x.ld, stats, gamma, rows,
                                                     j->x.cols);
    else
        aoei_kernels_of(j->ctx)->layernorm_grad_f32(dx, j->y.ld, dy, j->dy.ld, x, j->x.ld, stats, gamma, rows,
                                                    j->x.cols);
}

void aoei_layernorm_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dgamma, aoei_tensor dbeta,
                             aoei_tensor dy, aoei_tensor x, aoei_tensor stats, aoei_tensor gamma) {
    norm_job j = {
        .ctx = ctx, .y = dx, .stats = stats, .x = x, .gamma = gamma, .dy = dy, .dgamma = dgamma, .dbeta = dbeta};
    j.rows_per_task = block_rows(x.cols);
    /* the parameter gradients are computed before dx, because dx may share the memory of dy */
    if (dgamma.data)
        aoei_parallel_for(ctx->pool, tasks(x.cols, COLUMNS), param_grad_task, &j);
    if (dx.data)
        aoei_parallel_for(ctx->pool, tasks(x.rows, j.rows_per_task), input_grad_task, &j);
}
