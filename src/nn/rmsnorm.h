/* SPDX-License-Identifier: MIT
 * RMSNorm of each row (Zhang and Sennrich 2019).
 */
#ifndef AOEI_NN_RMSNORM_H
#define AOEI_NN_RMSNORM_H

#include "base/context.h"
#include "nn/tensor.h"

/* Computes y[N, D] = x / sqrt(mean(x^2) + eps) * gamma. x and y have one type; y may be x. stats[N, 1] receives 1 /
 * sqrt(mean(x^2) + eps) of each row; stats may be absent. */
void aoei_rmsnorm_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor stats, aoei_tensor x, aoei_tensor gamma,
                          double eps);
/* Computes the gradients of RMSNorm. dx and dy are float32; x is float32 or bf16. dx may be dy, or absent. The gradient of
 * gamma is added to dgamma [1, D], which may be absent. */
void aoei_rmsnorm_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dgamma, aoei_tensor dy, aoei_tensor x,
                           aoei_tensor stats, aoei_tensor gamma);

#endif
