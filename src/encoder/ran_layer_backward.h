/* SPDX-License-Identifier: MIT
 * The backward pass of one layer of a recurrent attention network (RAN, docs/ran.md) for one batch.
 */
#pragma once

#include "encoder/ran_layer.h"
#include "nn/tensor.h"

/* Computes the backward pass of a layer and adds the gradients of its weights to p->g. x[N, D] is the input of the
 * layer. d[N, D] is float32: before the call, it is the gradient of the output of the layer; after the call, it is the
 * gradient of x. The gradients of the cells of the previous layer are stored in p->s; the backward pass of that layer
 * reads them. */
void aoei_ran_layer_backward(aoei_ran_pass *p, aoei_tensor x, aoei_tensor d);
