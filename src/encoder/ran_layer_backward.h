/* SPDX-License-Identifier: MIT
 * The backward pass of one RAN layer over one batch.
 */
#ifndef AOEI_ENCODER_RAN_LAYER_BACKWARD_H
#define AOEI_ENCODER_RAN_LAYER_BACKWARD_H

#include "encoder/ran_layer.h"
#include "nn/tensor.h"

/* Runs the backward pass and adds to the weight gradients p->g. x: [N, D] input of the layer. d: [N, D] float32; on entry
 * the gradient of the layer's output, on return the gradient of its input. The gradients of the cells are
 * passed from layer to layer in p->s. */
void aoei_ran_layer_backward(aoei_ran_pass *p, aoei_tensor x, aoei_tensor d);

#endif
