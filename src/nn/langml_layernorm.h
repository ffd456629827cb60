/* SPDX-License-Identifier: MIT
 * The layer normalization of langml: (x - mean(x)) / sqrt(mean(x^2) + eps). LayerNorm divides by the standard deviation
 * instead, which is computed from x - mean(x). The encoder of recurrent attention networks (RAN) needs this variant for
 * weights that were trained with langml. The arguments are the same as in the functions in nn/layernorm.h, except that
 * stats[N, 2] contains the mean and 1 / sqrt(mean(x^2) + eps) of each row.
 */
#pragma once

#include "base/context.h"
#include "nn/tensor.h"

void aoei_langml_layernorm_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor stats, aoei_tensor x,
                                   aoei_tensor gamma, aoei_tensor beta, double eps);
void aoei_langml_layernorm_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dgamma, aoei_tensor dbeta,
                                    aoei_tensor dy, aoei_tensor x, aoei_tensor stats, aoei_tensor gamma);
