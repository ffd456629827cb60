/* SPDX-License-Identifier: MIT
 * Sums, scaling and activations of contiguous tensors.
 */
#pragma once

#include "base/context.h"
#include "kernels/kernels.h"
#include "nn/tensor.h"

/* Computes y = a + b. All tensors are float32. y may be a or b. */
void aoei_add(const aoe_context *ctx, aoei_tensor y, aoei_tensor a, aoei_tensor b);
/* Computes t *= s. t is float32 or bf16. */
void aoei_scale(const aoe_context *ctx, aoei_tensor t, double s);
/* Computes y = activation(x) for each element. x and y have one type. y may be x. */
void aoei_activation_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_activation activation);
/* Computes dx = dy * activation'(x) for each element. dy is float32. x and dx have one type, float32 or bf16. */
void aoei_activation_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dy, aoei_tensor x,
                              aoei_activation activation);

/* Returns the kernel that computes an activation of float32 elements. */
aoei_gelu_f32_fn *aoei_activation_kernel(const aoe_context *ctx, aoei_activation activation);
/* Returns the kernel that multiplies gradients by the derivative of an activation of float32 elements. */
aoei_gelu_grad_f32_fn *aoei_activation_grad_kernel(const aoe_context *ctx, aoei_activation activation);
