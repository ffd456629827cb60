/* SPDX-License-Identifier: MIT
 * Gated linear units (Shazeer 2020) for contiguous tensors that all have the same type.
 */
#pragma once

#include "base/context.h"
#include "kernels/kernels.h"
#include "nn/tensor.h"

/* Computes y = activation(gate) * up for each element. All three tensors have the same shape. y may be gate or up. */
void aoei_glu_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor gate, aoei_tensor up,
                      aoei_activation activation);
/* Computes the gradients of gate and up from dy, the gradient of y, and overwrites gate and up with them. */
void aoei_glu_backward(const aoe_context *ctx, aoei_tensor gate, aoei_tensor up, aoei_tensor dy,
                       aoei_activation activation);
