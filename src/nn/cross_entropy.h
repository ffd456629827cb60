/* SPDX-License-Identifier: MIT
 * Cross entropy of logits, with its gradient.
 */
#pragma once

#include <stdint.h>

#include "base/context.h"
#include "nn/tensor.h"

/* Computes the cross entropy of each row of logits[M, V] (float32) with the class target[M] in [0, V), and its
 * gradient.
 * - loss[M] receives the losses in nats.
 * - best[M] receives 1 for each row in which no logit is larger than the logit of the target, and 0 for other rows.
 * - logits is overwritten by `scale` times the gradient of the loss.
 * - grad[M, V] is either the tensor `logits`, or a bf16 tensor that receives the rounded gradient. */
void aoei_cross_entropy(const aoe_context *ctx, aoei_tensor grad, aoei_tensor logits, const int32_t *target,
                        double scale, double *loss, uint8_t *best);
