/* SPDX-License-Identifier: MIT
 * The backward pass of one transformer layer over one batch.
 */
#pragma once

#include "encoder/transformer_layer.h"
#include "nn/tensor.h"

/* Computes the backward pass of the layer and adds the gradients of its weights to layer->g. d[N, D] is float32: before
 * the call, it is the gradient of the output of the layer; after the call, it is the gradient of the input. */
void aoei_layer_backward(const aoei_layer *layer, aoei_tensor d);
/* The backward pass of aoei_transformer_norm. Computes dx from dy. Adds the weight gradient to g[0], and the gradient
 * of the bias to g[1]. x is the input of the norm, stats contains its statistics from the forward pass, and w contains
 * the weight and the bias. */
void aoei_transformer_norm_backward(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor dx,
                                    const aoei_tensor *g, aoei_tensor dy, aoei_tensor x, aoei_tensor stats,
                                    const aoei_tensor *w);
