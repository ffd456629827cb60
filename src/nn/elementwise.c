/* SPDX-License-Identifier: MIT
 * Sums and multiples of contiguous tensors, split over fixed blocks of elements.
 */
#include "nn/nn.h"

enum { BLOCK = 16384 }; /* elements of a task */

typedef struct element_job {
    const aoe_context *ctx;
    float *y;           /* [n] */
    const float *a, *b; /* [n] */
    float s;
    size_t n;
} element_job;

static size_t block_length(const element_job *j, size_t task) {
    const size_t left = j->n - task * BLOCK;
    return left < BLOCK ? left : BLOCK;
}

static void add_task(void *arg, size_t task, size_t worker) {
    const element_job *j = arg;
    const size_t first = task * BLOCK;
    (void)worker;
    j->ctx->kernels.add_f32(j->y + first, j->a + first, j->b + first, block_length(j, task));
}

void aoei_add(const aoe_context *ctx, aoei_tensor y, aoei_tensor a, aoei_tensor b) {
    element_job j = {.ctx = ctx, .y = y.data, .a = a.data, .b = b.data, .n = y.rows * y.cols};
    aoei_parallel_for(ctx->pool, (j.n + BLOCK - 1) / BLOCK, add_task, &j);
}

static void scale_task(void *arg, size_t task, size_t worker) {
    const element_job *j = arg;
    float *y = j->y + task * BLOCK;
    const size_t n = block_length(j, task);
    (void)worker;
    for (size_t i = 0; i < n; i++)
        y[i] *= j->s;
}

void aoei_scale(const aoe_context *ctx, aoei_tensor t, double s) {
    element_job j = {.ctx = ctx, .y = t.data, .s = (float)s, .n = t.rows * t.cols};
    aoei_parallel_for(ctx->pool, (j.n + BLOCK - 1) / BLOCK, scale_task, &j);
}
