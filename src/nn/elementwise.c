/* SPDX-License-Identifier: MIT
 * Sums, scaling and activations of contiguous tensors. A task computes a block of BLOCK elements.
 */
#include "nn/elementwise.h"

#include <assert.h>

#include "kernels/kernel_table.h"

enum { BLOCK = 16384 /* elements per task */, PIECE = 1024 /* bf16 elements converted at a time */ };

typedef struct element_job {
    const aoe_context *ctx;
    float *y;           /* [n] output */
    aoei_bf16 *bf16;    /* [n] bf16 elements to scale; NULL: the elements are in y */
    const float *a, *b; /* [n] inputs; b is used for sums only */
    float s;            /* factor, used for scaling only */
    size_t n;           /* number of elements */
} element_job;

static size_t block_length(const element_job *j, size_t task) {
    const size_t left = j->n - task * BLOCK;
    return left < BLOCK ? left : BLOCK;
}

static void add_task(void *arg, size_t task, size_t worker) {
    const element_job *j = arg;
    const size_t first = task * BLOCK;
    (void)worker;
    aoei_kernels_of(j->ctx)->add_f32(j->y + first, j->a + first, j->b + first, block_length(j, task));
}

void aoei_add(const aoe_context *ctx, aoei_tensor y, aoei_tensor a, aoei_tensor b) {
    element_job j = {.ctx = ctx, .y = aoei_f32(y), .a = aoei_f32(a), .b = aoei_f32(b), .n = y.rows * y.cols};
    aoei_parallel_for(ctx->pool, (j.n + BLOCK - 1) / BLOCK, add_task, &j);
}

static void scale_task(void *arg, size_t task, size_t worker) {
    const element_job *j = arg;
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    const size_t n = block_length(j, task);
    float *y = j->bf16 ? aoei_worker_scratch(j->ctx, worker) : j->y + task * BLOCK;
    if (j->bf16)
        k->from_bf16(y, j->bf16 + task * BLOCK, n);
    for (size_t i = 0; i < n; i++)
        y[i] *= j->s;
    if (j->bf16)
        k->to_bf16(j->bf16 + task * BLOCK, y, n);
}

void aoei_scale(const aoe_context *ctx, aoei_tensor t, double s) {
    element_job j = {.ctx = ctx, .s = (float)s, .n = t.rows * t.cols};
    if (t.type == AOEI_BF16)
        j.bf16 = aoei_b16(t);
    else
        j.y = aoei_f32(t);
    aoei_parallel_for(ctx->pool, (j.n + BLOCK - 1) / BLOCK, scale_task, &j);
}

typedef struct activation_job {
    const aoe_context *ctx;
    aoei_tensor y, x; /* output and input of the activation; both have one type */
    aoei_activation activation;
    size_t n; /* number of elements */
} activation_job;

aoei_gelu_f32_fn *aoei_activation_kernel(const aoe_context *ctx, aoei_activation activation) {
    const aoei_kernels *k = aoei_kernels_of(ctx);
    return activation == AOEI_GELU_TANH    ? k->gelu_tanh_f32
           : activation == AOEI_SILU       ? k->silu_f32
           : activation == AOEI_RELU       ? k->relu_f32
           : activation == AOEI_QUICK_GELU ? k->quick_gelu_f32
                                           : k->gelu_f32;
}

aoei_gelu_grad_f32_fn *aoei_activation_grad_kernel(const aoe_context *ctx, aoei_activation activation) {
    const aoei_kernels *k = aoei_kernels_of(ctx);
    return activation == AOEI_GELU_TANH    ? k->gelu_tanh_grad_f32
           : activation == AOEI_SILU       ? k->silu_grad_f32
           : activation == AOEI_RELU       ? k->relu_grad_f32
           : activation == AOEI_QUICK_GELU ? k->quick_gelu_grad_f32
                                           : k->gelu_grad_f32;
}

/* Computes the activations of one block of bf16 elements with the kernel for float32, PIECE elements at a time. */
static void activate_converted(const activation_job *j, size_t first, size_t n, float *converted) {
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    for (size_t at = first; at < first + n; at += PIECE) {
        const size_t count = first + n - at < PIECE ? first + n - at : PIECE;
        k->from_bf16(converted, aoei_b16(j->x) + at, count);
        aoei_activation_kernel(j->ctx, j->activation)(converted, converted, count);
        k->to_bf16(aoei_b16(j->y) + at, converted, count);
    }
}

static void activation_task(void *arg, size_t task, size_t worker) {
    const activation_job *j = arg;
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    const size_t first = task * BLOCK, left = j->n - first, n = left < BLOCK ? left : BLOCK;
    if (j->x.type != AOEI_BF16)
        aoei_activation_kernel(j->ctx, j->activation)(aoei_f32(j->y) + first, aoei_f32(j->x) + first, n);
    else if (j->activation == AOEI_GELU || j->activation == AOEI_GELU_TANH)
        (j->activation == AOEI_GELU ? k->gelu_bf16 : k->gelu_tanh_bf16)(aoei_b16(j->y) + first, aoei_b16(j->x) + first,
                                                                        n);
    else
        activate_converted(j, first, n, aoei_worker_scratch(j->ctx, worker));
}

void aoei_activation_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_activation activation) {
    assert(activation != AOEI_IDENTITY && y.type == x.type);
    activation_job j = {.ctx = ctx, .y = y, .x = x, .activation = activation, .n = y.rows * y.cols};
    aoei_parallel_for(ctx->pool, (j.n + BLOCK - 1) / BLOCK, activation_task, &j);
}

typedef struct gradient_job {
    const aoe_context *ctx;
    aoei_tensor dx, dy, x; /* gradient of the input; gradient of the output; input of the activation */
    aoei_activation activation;
    size_t n; /* number of elements */
} gradient_job;

/* Computes dx for one block of elements. bf16 elements are converted to float32 in pieces of PIECE elements. */
static void gradient_task(void *arg, size_t task, size_t worker) {
    const gradient_job *j = arg;
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    const size_t end = (task + 1) * BLOCK < j->n ? (task + 1) * BLOCK : j->n;
    float *converted = aoei_worker_scratch(j->ctx, worker);
    for (size_t at = task * BLOCK; at < end; at += PIECE) {
        const size_t n = end - at < PIECE ? end - at : PIECE;
        const float *dy = aoei_f32(j->dy) + at, *x = converted;
        float *dx = converted;
        if (j->x.type == AOEI_BF16) {
            k->from_bf16(converted, aoei_b16(j->x) + at, n);
        } else {
            x = aoei_f32(j->x) + at;
            dx = aoei_f32(j->dx) + at;
        }
        aoei_activation_grad_kernel(j->ctx, j->activation)(dx, dy, x, n);
        if (j->x.type == AOEI_BF16)
            k->to_bf16(aoei_b16(j->dx) + at, converted, n);
    }
}

void aoei_activation_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dy, aoei_tensor x,
                              aoei_activation activation) {
    assert(activation != AOEI_IDENTITY && dx.type == x.type);
    gradient_job j = {.ctx = ctx, .dx = dx, .dy = dy, .x = x, .activation = activation, .n = x.rows * x.cols};
    aoei_parallel_for(ctx->pool, (j.n + BLOCK - 1) / BLOCK, gradient_task, &j);
}
