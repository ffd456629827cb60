/* SPDX-License-Identifier: MIT
 * Layer normalisation. Rows are independent: forward and dx split over blocks of rows.
 * Parameter gradients are one chain a column over all rows, so they split over columns.
 */
#include "nn/nn.h"

enum {
    BLOCK_ELEMENTS = 16384, /* about the elements of a block of rows */
    COLUMNS = 64            /* of a slice: four cache lines, one register tile of the kernel */
};

typedef struct norm_job {
    const aoe_context *ctx;
    aoei_tensor y, stats, x, gamma, beta; /* backward: y = dx */
    aoei_tensor dy, dgamma, dbeta;
    float eps;
    size_t rows_a_task;
} norm_job;

static size_t block_rows(size_t cols) {
    return cols < BLOCK_ELEMENTS ? BLOCK_ELEMENTS / cols : 1;
}

static size_t tasks(size_t n, size_t a_task) {
    return (n + a_task - 1) / a_task;
}

static void forward_task(void *arg, size_t task, size_t worker) {
    const norm_job *j = arg;
    (void)worker;
    const size_t first = task * j->rows_a_task, left = j->x.rows - first;
    j->ctx->kernels.layernorm_f32(j->y.data + first * j->y.ld, j->y.ld, j->stats.data ? j->stats.data + first * 2 : NULL,
                                  j->x.data + first * j->x.ld, j->x.ld, j->gamma.data, j->beta.data, j->eps,
                                  left < j->rows_a_task ? left : j->rows_a_task, j->x.cols);
}

void aoei_layernorm_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor stats, aoei_tensor x, aoei_tensor gamma,
                            aoei_tensor beta, double eps) {
    norm_job j = {.ctx = ctx, .y = y, .stats = stats, .x = x, .gamma = gamma, .beta = beta, .eps = (float)eps};
    j.rows_a_task = block_rows(x.cols);
    aoei_parallel_for(ctx->pool, tasks(x.rows, j.rows_a_task), forward_task, &j);
}

static void param_grad_task(void *arg, size_t task, size_t worker) {
    const norm_job *j = arg;
    (void)worker;
    const size_t first = task * COLUMNS, left = j->x.cols - first;
    j->ctx->kernels.layernorm_param_grad_f32(j->dgamma.data + first, j->dbeta.data + first, j->dy.data + first, j->dy.ld,
                                             j->x.data + first, j->x.ld, j->stats.data, j->x.rows,
                                             left < COLUMNS ? left : COLUMNS);
}

static void input_grad_task(void *arg, size_t task, size_t worker) {
    const norm_job *j = arg;
    (void)worker;
    const size_t first = task * j->rows_a_task, left = j->x.rows - first;
    j->ctx->kernels.layernorm_grad_f32(j->y.data + first * j->y.ld, j->y.ld, j->dy.data + first * j->dy.ld, j->dy.ld,
                                       j->x.data + first * j->x.ld, j->x.ld, j->stats.data + first * 2, j->gamma.data,
                                       left < j->rows_a_task ? left : j->rows_a_task, j->x.cols);
}

void aoei_layernorm_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dgamma, aoei_tensor dbeta, aoei_tensor dy,
                             aoei_tensor x, aoei_tensor stats, aoei_tensor gamma) {
    norm_job j = {.ctx = ctx, .y = dx, .stats = stats, .x = x, .gamma = gamma, .dy = dy, .dgamma = dgamma, .dbeta = dbeta};
    j.rows_a_task = block_rows(x.cols);
    /* first, because dx may be dy */
    aoei_parallel_for(ctx->pool, tasks(x.cols, COLUMNS), param_grad_task, &j);
    if (dx.data)
        aoei_parallel_for(ctx->pool, tasks(x.rows, j.rows_a_task), input_grad_task, &j);
}
