/* SPDX-License-Identifier: MIT
 * Linear layers, forward and backward, with optional activation, residual and adapter.
 * Shapes: N tokens, I input features, O output features.
 *
 * The operations in nn/ do not check shapes (the encoder checks them), allocate no memory, and divide their work over threads
 * depending on shapes only. Gradients of parameters are always added to the stored
 * values, token by token in ascending order, so gradient accumulation over batches gives the
 * same bits as one large batch.
 */
#ifndef AOEI_NN_LINEAR_H
#define AOEI_NN_LINEAR_H

#include "base/context.h"
#include "kernels/kernels.h"
#include "nn/adapter.h"
#include "nn/tensor.h"

/* Operations that are fused into the matmul x w^T + b (aoei_gemm_args in kernels/kernels.h). A zeroed struct adds no operation.
 */
typedef struct aoei_linear_epilogue {
    aoei_activation activation;
    aoei_tensor pre;      /* output [N, O] of y's type: the values before the activation; may be absent */
    aoei_tensor residual; /* [N, O] of y's type, added last; may be absent */
    aoei_tensor
        workspace; /* packing workspace of aoei_linear_workspace bytes; absent: each task packs its own part (float32 only) */
    const aoei_adapter
        *adapter; /* NULL: none. With an adapter and an activation, y and pre are contiguous and residual is absent */
} aoei_linear_epilogue;
/* y[N, O] = x[N, I] w[O, I]^T + b[1, O]. b may be absent, and e may be NULL. y has x's type or is float32; x and y may be
 * column views. w may have any type. If w has a packed form that was made for x's type, the function uses it. Otherwise, if the
 * types of w and x differ, a packing workspace is required. */
void aoei_linear_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor w, aoei_tensor b,
                         const aoei_linear_epilogue *e);

/* Gradients of a linear layer. The gradients of absent tensors are not computed. */
typedef struct aoei_linear_grads {
    aoei_tensor dx; /* [N, I] = dy w; float32 or dy's type. It is computed last and may share the memory of x */
    int accumulate; /* 1: dx += dy w, float32 only */
    aoei_activation activation;
    aoei_tensor gate; /* [N, I] of dx's type: dx = (dy w) * activation'(gate), which is the gradient of gate if x =
                         activation(gate); absent: dx = dy w */
    aoei_tensor dw;   /* [O, I] float32, += dy^T x */
    aoei_tensor db;   /* [1, O] float32, += column sums of dy */
    aoei_tensor
        workspace; /* packing workspace of aoei_linear_workspace bytes; absent: each task packs its own part (no dx in bf16) */
    const aoei_adapter *adapter; /* NULL: none */
} aoei_linear_grads;
/* dy[N, O] and x[N, I] have one type, w[O, I] any type. */
void aoei_linear_backward(const aoe_context *ctx, const aoei_linear_grads *g, aoei_tensor dy, aoei_tensor x, aoei_tensor w);
/* Returns the size in bytes of the packing workspace for layers [out, in] and up to N tokens of `type`. */
size_t aoei_linear_workspace(const aoe_context *ctx, aoei_dtype type, size_t N, size_t out, size_t in);

#endif
