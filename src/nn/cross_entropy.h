/* SPDX-License-Identifier: MIT
 * Cross entropy of logits, with its gradient.
 */
#ifndef AOEI_NN_CROSS_ENTROPY_H
#define AOEI_NN_CROSS_ENTROPY_H

#include <stdint.h>

#include "base/context.h"
#include "nn/tensor.h"

/* Cross entropy of logits[M, V] (float32) with target[M] in [0, V). loss[M] receives the losses in nats, and best[M] receives 1
 * for each row in which no logit exceeds the logit of the target, and 0 for other rows. The logits are replaced by `scale`
 * times their gradient. If grad[M, V] is bf16, the gradient is also written there; otherwise grad is logits. */
void aoei_cross_entropy(const aoe_context *ctx, aoei_tensor grad, aoei_tensor logits, const int32_t *target, double scale,
                        double *loss, uint8_t *best);

#endif
