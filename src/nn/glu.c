/* SPDX-License-Identifier: MIT
 * Gated linear units (Shazeer 2020) of contiguous tensors. A task computes BLOCK elements, in pieces that fit the L1
 * cache. bf16 operands are converted to float32, and every result is rounded once.
 */
#include "nn/glu.h"

#include <assert.h>

#include "kernels/kernel_table.h"
#include "nn/elementwise.h"

enum { BLOCK = 16384 /* elements per task */, PIECE = 1024 /* elements converted at a time */ };

typedef struct gate_job {
    const aoe_context *ctx;
    aoei_tensor y, gate, up; /* tensors of one type; in the backward pass, y is dy, the gradient of y */
    aoei_activation activation;
    size_t n; /* number of elements */
} gate_job;

/* Returns elements [at, at + n) of t as float32. If t is float32, the result is a pointer into t; otherwise it points
 * to a converted copy in `workspace`. */
static float *as_float32(const gate_job *j, aoei_tensor t, size_t at, size_t n, float *workspace) {
    if (t.type == AOEI_F32)
        return aoei_f32(t) + at;
    aoei_kernels_of(j->ctx)->from_bf16(workspace, aoei_b16(t) + at, n);
    return workspace;
}

/* Stores x[n] as elements [at, at + n) of t, rounded to bf16. If t is float32, does nothing, because x points into
 * t. */
static void store_rounded(const gate_job *j, aoei_tensor t, size_t at, size_t n, const float *x) {
    if (t.type == AOEI_BF16)
        aoei_kernels_of(j->ctx)->to_bf16(aoei_b16(t) + at, x, n);
}

/* Computes y = activation(gate) * up for a block of elements. */
static void forward_task(void *arg, size_t task, size_t worker) {
    const gate_job *j = arg;
    const size_t end = (task + 1) * BLOCK < j->n ? (task + 1) * BLOCK : j->n;
    float *workspace = aoei_worker_scratch(j->ctx, worker), *value = workspace + 2 * PIECE;
    for (size_t at = task * BLOCK; at < end; at += PIECE) {
        const size_t n = end - at < PIECE ? end - at : PIECE;
        const float *up = as_float32(j, j->up, at, n, workspace + PIECE);
        float *y = j->y.type == AOEI_F32 ? aoei_f32(j->y) + at : value;
        /* the activation is not written to y, because y may be up */
        aoei_activation_kernel(j->ctx, j->activation)(value, as_float32(j, j->gate, at, n, workspace), n);
        aoei_kernels_of(j->ctx)->mul_f32(y, value, up, n);
        store_rounded(j, j->y, at, n, y);
    }
}

/* Computes the gradients of gate and up for a block of elements and overwrites gate and up with them. */
static void backward_task(void *arg, size_t task, size_t worker) {
    const gate_job *j = arg;
    const size_t end = (task + 1) * BLOCK < j->n ? (task + 1) * BLOCK : j->n;
    float *workspace = aoei_worker_scratch(j->ctx, worker), *value = workspace + 3 * PIECE,
          *dy_up = workspace + 4 * PIECE;
    for (size_t at = task * BLOCK; at < end; at += PIECE) {
        const size_t n = end - at < PIECE ? end - at : PIECE;
        float *gate = as_float32(j, j->gate, at, n, workspace), *up = as_float32(j, j->up, at, n, workspace + PIECE);
        const float *dy = as_float32(j, j->y, at, n, workspace + 2 * PIECE);
        aoei_activation_kernel(j->ctx, j->activation)(value, gate, n);
        aoei_kernels_of(j->ctx)->mul_f32(dy_up, dy, up, n);
        aoei_kernels_of(j->ctx)->mul_f32(up, dy, value, n);
        aoei_activation_grad_kernel(j->ctx, j->activation)(gate, dy_up, gate, n);
        store_rounded(j, j->up, at, n, up);
        store_rounded(j, j->gate, at, n, gate);
    }
}

void aoei_glu_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor gate, aoei_tensor up,
                      aoei_activation activation) {
    assert(activation != AOEI_IDENTITY && y.type == gate.type && up.type == gate.type);
    gate_job j = {.ctx = ctx, .y = y, .gate = gate, .up = up, .activation = activation, .n = y.rows * y.cols};
    aoei_parallel_for(ctx->pool, (j.n + BLOCK - 1) / BLOCK, forward_task, &j);
}

void aoei_glu_backward(const aoe_context *ctx, aoei_tensor gate, aoei_tensor up, aoei_tensor dy,
                       aoei_activation activation) {
    assert(activation != AOEI_IDENTITY && dy.type == gate.type && up.type == gate.type);
    gate_job j = {.ctx = ctx, .y = dy, .gate = gate, .up = up, .activation = activation, .n = gate.rows * gate.cols};
    aoei_parallel_for(ctx->pool, (j.n + BLOCK - 1) / BLOCK, backward_task, &j);
}
