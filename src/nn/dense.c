/* SPDX-License-Identifier: MIT
 * Linear layers with an optional tanh, in float32.
 */
#include "nn/dense.h"

#include "nn/linear.h"

#include <math.h>

typedef struct tanh_job {
    aoei_tensor y, dy; /* float32 tensors with contiguous rows: the output and its gradient; dy is absent in the forward pass */
} tanh_job;

/* Applies tanh to one row. In the forward pass, computes y = tanh(y); in the backward pass, dy *= 1 - y^2. */
static void tanh_task(void *arg, size_t row, size_t worker) {
    const tanh_job *j = arg;
    float *y = aoei_tensor_at(j->y, row, 0), *dy = j->dy.data ? aoei_tensor_at(j->dy, row, 0) : NULL;
    (void)worker;
    for (size_t k = 0; k < j->y.cols; k++)
        if (dy)
            dy[k] *= 1.0f - y[k] * y[k];
        else
            y[k] = (float)tanh((double)y[k]);
}

void aoei_dense_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor w, aoei_tensor b, int with_tanh) {
    tanh_job j = {.y = y};
    aoei_linear_forward(ctx, y, x, w, b, NULL);
    if (with_tanh)
        aoei_parallel_for(ctx->pool, y.rows, tanh_task, &j);
}

void aoei_dense_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dw, aoei_tensor db, aoei_tensor dy, aoei_tensor x,
                         aoei_tensor y, aoei_tensor w, int with_tanh) {
    const aoei_linear_grads g = {.dx = dx, .dw = dw, .db = db};
    tanh_job j = {.y = y, .dy = dy};
    if (with_tanh)
        aoei_parallel_for(ctx->pool, y.rows, tanh_task, &j);
    aoei_linear_backward(ctx, &g, dy, x, w);
}
