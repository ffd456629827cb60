/* SPDX-License-Identifier: MIT
 * Batch normalization of each column over the rows of a batch (Ioffe and Szegedy 2015), with the biased variance. The
 * statistics of the batch are always used; there are no running statistics, because models with this layer are not
 * saved.
 */
#pragma once

#include "base/context.h"
#include "nn/tensor.h"

/* Computes y[N, D] = (x - mean) / sqrt(var + eps) gamma + beta, with the mean and the variance of each column of x. x
 * and y are float32; y may be x. If gamma [1, D] is absent, it is 1; if beta [1, D] is absent, it is 0. */
void aoei_batchnorm_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor gamma, aoei_tensor beta,
                            double eps);
/* Computes the gradients of batch normalization. dx may be dy or x. The gradients of the parameters are added to dgamma
 * and dbeta; they are not computed if dgamma is absent. */
void aoei_batchnorm_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dgamma, aoei_tensor dbeta,
                             aoei_tensor dy, aoei_tensor x, aoei_tensor gamma, double eps);
