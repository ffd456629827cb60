/* SPDX-License-Identifier: MIT
 * One-dimensional convolutions over the tokens of each text, as Conv1d of PyTorch with stride 1, an odd kernel size k
 * and a padding of (k - 1) / 2 zeros: y[t] = b + sum over o < k of W[:, :, o] x[t + o - (k - 1) / 2], where x is 0
 * outside the text. Shapes: N tokens, D input channels, C output channels. The weight W [C, D, k] is used as a matrix
 * [C, D k], and the tokens are unfolded to a matrix [N, D k], whose row t contains x[t + o - (k - 1) / 2, i] in column
 * i k + o. Therefore, each of the three passes is one matmul, whose sums have the order that nn/linear.h defines.
 */
#pragma once

#include "base/context.h"
#include "nn/batch.h"
#include "nn/tensor.h"

#define AOEI_MAX_KERNELS 8 /* maximum number of convolutions of a model */

/* A convolution. */
typedef struct aoei_convolution {
    size_t kernel;         /* kernel size k, odd */
    aoei_tensor weight;    /* [C, D k] */
    aoei_tensor bias;      /* [1, C] float32 */
    aoei_tensor unfolded;  /* [at least N, D k] float32 buffer */
    aoei_tensor workspace; /* aoei_linear_workspace bytes for weights of [C, D k] and N tokens of float32 */
} aoei_convolution;

/* Computes y[N, C] (float32) from x[N, D] (float32 or bf16). y may be a column view. */
void aoei_convolution_forward(const aoe_context *ctx, const aoei_convolution *v, aoei_tensor y, aoei_tensor x,
                              const aoei_batch *batch);
/* Computes the backward pass from dy[N, C] (float32, which may be a column view). Adds the gradients of the weight and
 * the bias to dw[C, D k] and db[1, C], which may be absent. Adds the gradient of x to dx[N, D] (float32). */
void aoei_convolution_backward(const aoe_context *ctx, const aoei_convolution *v, aoei_tensor dx, aoei_tensor dw,
                               aoei_tensor db, aoei_tensor dy, aoei_tensor x, const aoei_batch *batch);
