/* SPDX-License-Identifier: MIT
 * The weighted mean of hidden states that replaces the last hidden state as the input of the pooling, in models with
 * the module WeightedLayerPooling (config.modules.layer_weights) or with the poolings last-two-avg and layer1-last-avg
 * (config.modules.paired_state). In other models, the functions do nothing.
 */
#pragma once

#include "encoder/encoder_ops.h"

/* Sets c->modules.paired_state for the pooling of the model. Errors: AOE_EARG if the model has only one layer. */
int aoei_layer_pooling_select(aoei_encoder_config *c, aoe_pooling pooling, aoe_error *err);
/* Allocates s->mean and, in training, s->grad_mean. */
void aoei_layer_pooling_layout(aoei_encoder_state *s, const aoei_encoder_config *c, aoei_arena *arena);
/* Adds hidden state `index` (0: embedding output) to the mean of the first n tokens. w: [aoei_slot_count] weights. Must
 * be called in ascending order of the index. */
void aoei_layer_pooling_add(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                            aoei_encoder_state *s, size_t index, size_t n);
/* Begins the backward pass. s->grad_last contains the gradient of the mean, and then the gradient of the last hidden
 * state. Adds the gradients of the layer weights to grads. */
void aoei_layer_pooling_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                                 const aoei_tensor *grads, aoei_encoder_state *s, size_t n);
/* Adds the gradient that hidden state `index`, except the last one, receives from the mean to d[n, D]. */
void aoei_layer_pooling_add_gradient(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                                     const aoei_encoder_state *s, size_t index, aoei_tensor d);
