/* SPDX-License-Identifier: MIT
 * The weighted mean of hidden states: m = sum_i w_i h_i / sum_i w_i, the module WeightedLayerPooling of
 * sentence-transformers. The factor of hidden state i is w_i / sum_i w_i.
 * In comments, N is the number of tokens, D is the hidden size, and n is the number of hidden states.
 */
#pragma once

#include "base/context.h"
#include "nn/tensor.h"

/* Returns the factor of hidden state i. w: [1, n] float32 weights. */
double aoei_layer_mean_factor(aoei_tensor w, size_t i);
/* Adds factor * from[N, D] to to[N, D] (float32); if `accumulate` is 0, sets `to` to factor * from. In the forward
 * pass, `to` is the mean and `from` is a hidden state; the mean is complete after one call for each hidden state. In
 * the backward pass, `to` is the gradient of a hidden state and `from` is the gradient of the mean. */
void aoei_layer_mean_add(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, double factor, int accumulate);
/* Adds the weight gradients to dw[1, n] (float32). h: [n] hidden states, of which the first N rows are used. Each
 * gradient is one sum in the order of the tokens. */
void aoei_layer_mean_weights(const aoe_context *ctx, aoei_tensor dw, aoei_tensor dmean, aoei_tensor mean,
                             const aoei_tensor *h, aoei_tensor w);
