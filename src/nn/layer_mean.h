/* SPDX-License-Identifier: MIT
 * The weighted mean of hidden states: m = sum_i w_i h_i / sum_i w_i, the module WeightedLayerPooling of sentence-transformers.
 * In comments, N is the number of tokens, D is the hidden size, and n is the number of hidden states.
 */
#ifndef AOEI_NN_LAYER_MEAN_H
#define AOEI_NN_LAYER_MEAN_H

#include "base/context.h"
#include "nn/tensor.h"

/* Adds the term of hidden state i to mean[N, D] (float32); if i is 0, sets the mean to this term. h: [N, D] hidden state i. w:
 * [1, n] float32 weights. The mean is complete after the calls with i = 0 to n - 1 in this order. */
void aoei_layer_mean_forward(const aoe_context *ctx, aoei_tensor mean, aoei_tensor h, aoei_tensor w, size_t i);
/* Adds the gradient of hidden state i to dh[N, D] (float32); if `accumulate` is 0, sets dh to this gradient. dmean: [N, D]
 * float32 gradient of the mean. */
void aoei_layer_mean_backward(const aoe_context *ctx, aoei_tensor dh, aoei_tensor dmean, aoei_tensor w, size_t i,
                              int accumulate);
/* Adds the gradients of the weights to dw[1, n] (float32). h: [n] hidden states, of which the first N rows are used. Each
 * gradient is one sum in the order of the tokens. */
void aoei_layer_mean_weights(const aoe_context *ctx, aoei_tensor dw, aoei_tensor dmean, aoei_tensor mean, const aoei_tensor *h,
                             aoei_tensor w);

#endif
