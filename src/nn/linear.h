/* SPDX-License-Identifier: MIT
 * Linear layers, forward and backward, with optional activation, residual and adapter. Shapes: N tokens, I input
 * features, O output features.
 *
 * The operations in nn/ allocate no memory and do not check shapes; the encoder checks the shapes. Results do not
 * depend on the number of threads. Gradients of parameters are always added to the stored gradients, token by token in
 * ascending order. The gradient of several batches is therefore bit-identical to the gradient of one batch that
 * contains all their texts.
 */
#pragma once

#include "base/context.h"
#include "kernels/kernels.h"
#include "nn/adapter.h"
#include "nn/tensor.h"

/* Operations that are computed together with the matmul x w^T + b; aoei_gemm_args in kernels/kernels.h describes them.
 * A zeroed struct adds no operation. */
typedef struct aoei_linear_epilogue {
    aoei_activation activation;
    aoei_tensor pre;       /* output, [N, O] of the type of y: the values before the activation; may be absent */
    aoei_tensor residual;  /* [N, O] of the type of y, added last; may be absent */
    aoei_tensor workspace; /* packing workspace of aoei_linear_workspace bytes; if it is absent, each task packs its
                              part of w (float32 only) */
    const aoei_adapter *adapter; /* adapter of the layer; NULL: none. With an adapter and an activation, y and pre must
                                    be contiguous and residual absent */
} aoei_linear_epilogue;
/* Computes y[N, O] = x[N, I] w[O, I]^T + b[1, O]. b may be absent, and e may be NULL. y is float32 or has the type of
 * x. x and y may be column views. w may have any type. If w has a packed form for inputs of the type of x, the function
 * uses the packed form. Otherwise, if the types of w and x differ, the function needs e->workspace.
 * If x is int8 (aoei_quantize_rows), y is float32 or bf16, w must be int8 and have a packed form for int8 inputs, and
 * e->adapter must be NULL. */
void aoei_linear_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor w, aoei_tensor b,
                         const aoei_linear_epilogue *e);

/* The gradients that aoei_linear_backward computes. If dx, dw or db is absent, the function does not compute this
 * gradient. */
typedef struct aoei_linear_grads {
    /* [N, I] gradient of x, which is dy w; float32 or the type of dy. It is computed last and may share the memory of
     * x. */
    aoei_tensor dx;
    int accumulate; /* 1: dy w is added to dx, which must be float32; 0: dx is overwritten */
    aoei_activation activation;
    aoei_tensor gate; /* [N, I] of the type of dx; may be absent. If it is present, the function computes dx = (dy w) *
                         activation'(gate). If x = activation(gate), dx is then the gradient of gate */
    aoei_tensor dw;   /* [O, I] float32; dy^T x is added to it */
    aoei_tensor db;   /* [1, O] float32; the column sums of dy are added to it */
    aoei_tensor workspace; /* packing workspace of aoei_linear_workspace bytes; if it is absent, each task packs its
                              part of the operands, and dx is not supported in bf16 */
    const aoei_adapter *adapter; /* adapter of the layer; NULL: none */
} aoei_linear_grads;
/* Computes the gradients in g. dy[N, O] and x[N, I] have one type; w[O, I] may have any type. */
void aoei_linear_backward(const aoe_context *ctx, const aoei_linear_grads *g, aoei_tensor dy, aoei_tensor x,
                          aoei_tensor w);
/* Returns the size in bytes of the packing workspace for weights of at most [out, in] and for up to N tokens of
 * `type`. */
size_t aoei_linear_workspace(const aoe_context *ctx, aoei_dtype type, size_t N, size_t out, size_t in);
