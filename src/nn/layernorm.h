/* SPDX-License-Identifier: MIT
 * Layer normalization of each row (Ba et al. 2016), with the biased variance.
 */
#pragma once

#include "base/context.h"
#include "nn/tensor.h"

/* Computes y[N, D] = (x - mean) / sqrt(var + eps) * gamma + beta. x and y have one type; y may be x. stats[N, 2]
 * receives the mean and 1 / sqrt(var + eps) of each row; stats may be absent. If beta is absent, it is
 * 0. */
void aoei_layernorm_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor stats, aoei_tensor x, aoei_tensor gamma,
                            aoei_tensor beta, double eps);
/* Computes the gradients of layer normalization. dx and dy are float32; x is float32 or bf16. dx may be dy, or absent.
 * The parameter gradients are added to dgamma [1, D] and dbeta [1, D]. If dgamma is absent, neither of them is
 * computed.
 * dbeta alone may also be absent. */
void aoei_layernorm_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dgamma, aoei_tensor dbeta,
                             aoei_tensor dy, aoei_tensor x, aoei_tensor stats, aoei_tensor gamma);
