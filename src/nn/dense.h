/* SPDX-License-Identifier: MIT
 * Dense layers, which are applied to pooled vectors. They always compute in float32, because they need little time, and because
 * a dense layer that whitens the vectors amplifies rounding errors.
 */
#ifndef AOEI_NN_DENSE_H
#define AOEI_NN_DENSE_H

#include "base/context.h"
#include "nn/tensor.h"

/* Computes y[N, O] = x[N, I] w[O, I]^T + b[1, O], followed by tanh if with_tanh is 1. b may be absent. All tensors are float32
 * and contiguous. */
void aoei_dense_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor w, aoei_tensor b, int with_tanh);
/* Computes the gradients of a dense layer. dx is overwritten by the gradient of x. The gradients of w and b are added to dw and
 * db; if dw or db is absent, its gradient is not computed. x and y are the input and the output of the forward pass. The
 * function modifies dy. */
void aoei_dense_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dw, aoei_tensor db, aoei_tensor dy, aoei_tensor x,
                         aoei_tensor y, aoei_tensor w, int with_tanh);

#endif
