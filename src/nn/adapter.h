/* SPDX-License-Identifier: MIT
 * The parts of a linear layer's forward and backward that its adapter has.
 * nn/linear.c calls them; everybody else calls that (nn.h, aoei_adapter).
 */
#ifndef AOEI_NN_ADAPTER_H
#define AOEI_NN_ADAPTER_H

#include "nn/nn.h"

/* y[N,O] += scale * (dropout(x) down^T) up^T; x and y of one type, or y float32. */
void aoei_adapter_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, const aoei_adapter *a, aoei_tensor room);
/* ddown += and dup += from dy[N,O] and x[N,I] of one type. */
void aoei_adapter_parameter_gradients(const aoe_context *ctx, const aoei_adapter *a, aoei_tensor dy, aoei_tensor x,
                                      aoei_tensor room);
/* Adds the adapter's part to g->dx, the layer's own part being there. Comes right after the gradients of its parameters. */
void aoei_adapter_input_gradient(const aoe_context *ctx, const aoei_linear_grads *g, aoei_tensor dy);

#endif
