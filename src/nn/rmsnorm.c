/* SPDX-License-Identifier: MIT
 * RMSNorm. The forward pass and dx are divided into blocks of rows. The weight gradient is a sum over all rows in
 * ascending order (and over the groups of a row in ascending order), so each task computes a few columns of it.
 */
#include "nn/rmsnorm.h"

#include "kernels/kernel_table.h"

enum {
    BLOCK_ELEMENTS = 16384, /* approximate number of elements in a block of rows */
    COLUMNS = 64,           /* number of columns of dgamma that one task computes */
    GROUP_COLUMNS = 16      /* the same if rows have several groups, because dgamma is then short */
};

typedef struct norm_job {
    const aoe_context *ctx;
    aoei_tensor y, stats, x, gamma; /* y is the output of the forward pass; in the backward pass, y is dx, the gradient
                                       of x */
    aoei_tensor dy, dgamma;         /* gradients of y and gamma; absent in the forward pass */
    int plus_one;                   /* 1: the factors are 1 + gamma */
    float eps;
    size_t groups; /* number of groups of a row; each group has gamma.cols columns */
    size_t rows_per_task, cols_per_task;
} norm_job;

static size_t tasks(size_t n, size_t per_task) {
    return (n + per_task - 1) / per_task;
}

static void start(norm_job *j) {
    const size_t cols = j->x.cols;
    j->groups = cols / j->gamma.cols;
    j->rows_per_task = cols < BLOCK_ELEMENTS ? BLOCK_ELEMENTS / cols : 1;
    j->cols_per_task = j->groups > 1 ? GROUP_COLUMNS : COLUMNS;
}

/* Returns the factors of a row. Factors 1 + gamma are computed in the scratch buffer of the worker. */
static const float *factors(const norm_job *j, size_t worker) {
    const float *gamma = aoei_f32(j->gamma);
    if (!j->plus_one)
        return gamma;
    float *sum = aoei_worker_scratch(j->ctx, worker);
    for (size_t i = 0; i < j->gamma.cols; i++)
        sum[i] = 1 + gamma[i];
    return sum;
}

/* The rows that one call of a kernel processes: `n` rows of gamma.cols columns, where the first one starts at row `row`
 * of the tensors. If the rows of the tensors have one group, these are the rows [row, row + n) of the tensors;
 * otherwise they are the groups of one row, which are adjacent in memory. */
typedef struct kernel_rows {
    size_t row, n;
} kernel_rows;

/* Returns the distance between adjacent rows of t in a call of a kernel. */
static size_t distance(const norm_job *j, aoei_tensor t) {
    return j->groups > 1 ? j->gamma.cols : t.ld;
}

/* Returns the number of calls of a kernel for `rows` rows of the tensors. */
static size_t calls(const norm_job *j, size_t rows) {
    return j->groups > 1 ? rows : 1;
}

/* Returns the rows of call `i` for the rows [first, first + rows) of the tensors. */
static kernel_rows call_rows(const norm_job *j, size_t first, size_t rows, size_t i) {
    return j->groups > 1 ? (kernel_rows){first + i, j->groups} : (kernel_rows){first, rows};
}

static size_t task_rows(const norm_job *j, size_t first) {
    const size_t left = j->x.rows - first;
    return left < j->rows_per_task ? left : j->rows_per_task;
}

static void forward_task(void *arg, size_t task, size_t worker) {
    const norm_job *j = arg;
    const size_t first = task * j->rows_per_task, rows = task_rows(j, first), d = j->gamma.cols;
    const float *gamma = factors(j, worker);
    for (size_t i = 0; i < calls(j, rows); i++) {
        const kernel_rows k = call_rows(j, first, rows, i);
        void *y = aoei_tensor_at(j->y, k.row, 0), *x = aoei_tensor_at(j->x, k.row, 0),
             *stats = aoei_tensor_at(j->stats, k.row, 0);
        if (j->x.type == AOEI_BF16)
            aoei_kernels_of(j->ctx)->rmsnorm_bf16(y, distance(j, j->y), stats, x, distance(j, j->x), gamma, j->eps, k.n,
                                                  d);
        else
            aoei_kernels_of(j->ctx)->rmsnorm_f32(y, distance(j, j->y), stats, x, distance(j, j->x), gamma, j->eps, k.n,
                                                 d);
    }
}

void aoei_rmsnorm_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor stats, aoei_tensor x, aoei_tensor gamma,
                          int plus_one, double eps) {
    norm_job j = {.ctx = ctx, .y = y, .stats = stats, .x = x, .gamma = gamma, .plus_one = plus_one, .eps = (float)eps};
    start(&j);
    aoei_parallel_for(ctx->pool, tasks(x.rows, j.rows_per_task), forward_task, &j);
}

/* Adds the terms of all rows to cols_per_task elements of dgamma. */
static void param_grad_task(void *arg, size_t task, size_t worker) {
    const norm_job *j = arg;
    (void)worker;
    const size_t first = task * j->cols_per_task, left = j->gamma.cols - first;
    const size_t cols = left < j->cols_per_task ? left : j->cols_per_task;
    float *dgamma = aoei_f32(j->dgamma) + first;
    for (size_t i = 0; i < calls(j, j->x.rows); i++) {
        const kernel_rows k = call_rows(j, 0, j->x.rows, i);
        const float *dy = aoei_tensor_at(j->dy, k.row, first), *stats = aoei_tensor_at(j->stats, k.row, 0);
        const void *x = aoei_tensor_at(j->x, k.row, first);
        if (j->x.type == AOEI_BF16)
            aoei_kernels_of(j->ctx)->rmsnorm_param_grad_bf16(dgamma, dy, distance(j, j->dy), x, distance(j, j->x),
                                                             stats, k.n, cols);
        else
            aoei_kernels_of(j->ctx)->rmsnorm_param_grad_f32(dgamma, dy, distance(j, j->dy), x, distance(j, j->x), stats,
                                                            k.n, cols);
    }
}

/* Computes dx for a block of rows. */
static void input_grad_task(void *arg, size_t task, size_t worker) {
    const norm_job *j = arg;
    const size_t first = task * j->rows_per_task, rows = task_rows(j, first), d = j->gamma.cols;
    const float *gamma = factors(j, worker);
    for (size_t i = 0; i < calls(j, rows); i++) {
        const kernel_rows k = call_rows(j, first, rows, i);
        float *dx = aoei_tensor_at(j->y, k.row, 0);
        const float *dy = aoei_tensor_at(j->dy, k.row, 0), *stats = aoei_tensor_at(j->stats, k.row, 0);
        const void *x = aoei_tensor_at(j->x, k.row, 0);
        if (j->x.type == AOEI_BF16)
            aoei_kernels_of(j->ctx)->rmsnorm_grad_bf16(dx, distance(j, j->y), dy, distance(j, j->dy), x,
                                                       distance(j, j->x), stats, gamma, k.n, d);
        else
            aoei_kernels_of(j->ctx)->rmsnorm_grad_f32(dx, distance(j, j->y), dy, distance(j, j->dy), x,
                                                      distance(j, j->x), stats, gamma, k.n, d);
    }
}

void aoei_rmsnorm_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dgamma, aoei_tensor dy, aoei_tensor x,
                           aoei_tensor stats, aoei_tensor gamma, int plus_one) {
    norm_job j = {
        .ctx = ctx, .y = dx, .stats = stats, .x = x, .gamma = gamma, .dy = dy, .dgamma = dgamma, .plus_one = plus_one};
    start(&j);
    /* the parameter gradients are computed before dx, because dx may share the memory of dy */
    if (dgamma.data)
        aoei_parallel_for(ctx->pool, tasks(gamma.cols, j.cols_per_task), param_grad_task, &j);
    if (dx.data)
        aoei_parallel_for(ctx->pool, tasks(x.rows, j.rows_per_task), input_grad_task, &j);
}
