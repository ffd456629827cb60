/* SPDX-License-Identifier: MIT
 * The backward pass of one transformer layer over one batch.
 */
#ifndef AOEI_ENCODER_TRANSFORMER_LAYER_BACKWARD_H
#define AOEI_ENCODER_TRANSFORMER_LAYER_BACKWARD_H

#include "encoder/transformer_layer.h"
#include "nn/tensor.h"

/* Runs the backward pass of the layer and adds to the weight gradients layer->g. d: [N, D] float32; on entry the gradient of
 * the layer's output, on return the gradient of its input. */
void aoei_layer_backward(const aoei_layer *layer, aoei_tensor d);
/* The backward pass of aoei_transformer_norm: computes dx from dy, and adds to the gradients g[0] of the weight and g[1] of the
 * bias. x: input of the norm; stats: its statistics from the forward pass; w: weight and bias. */
void aoei_transformer_norm_backward(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor dx, const aoei_tensor *g,
                                    aoei_tensor dy, aoei_tensor x, aoei_tensor stats, const aoei_tensor *w);

#endif
