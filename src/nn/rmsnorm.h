/* SPDX-License-Identifier: MIT
 * RMSNorm of each row (Zhang and Sennrich 2019).
 */
#pragma once

#include "base/context.h"
#include "nn/tensor.h"

/* Computes y[N, D] = x / sqrt(mean(x^2) + eps) * gamma, or (1 + gamma) instead of gamma if plus_one is 1. gamma is [1,
 * D], or [1, D / groups]: every row then consists of groups of D / groups adjacent components, such as the heads of the
 * queries, and each group is normalized separately with the same gamma. x and y have one type and may be column views;
 * y may be x.
 * stats[N, groups] receives 1 / sqrt(mean(x^2) + eps) of each group; stats may be absent. */
void aoei_rmsnorm_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor stats, aoei_tensor x, aoei_tensor gamma,
                          int plus_one, double eps);
/* Computes the gradients of RMSNorm. dx and dy are float32; x is float32 or bf16. dx may be dy, or absent. The gradient
 * of gamma is added to dgamma, which has the shape of gamma and may be absent. */
void aoei_rmsnorm_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dgamma, aoei_tensor dy, aoei_tensor x,
                           aoei_tensor stats, aoei_tensor gamma, int plus_one);
