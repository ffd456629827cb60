/* SPDX-License-Identifier: MIT
 * An estimate of the speed of training on this computer, for plans of training runs.
 */
#pragma once

#include "encoder/config.h"
#include "nn/tensor.h"

/* Measures the matmuls of the linear layers of a model, forward and backward, for a few hundred tokens, with all
 * threads of the context. Sets *tokens_per_second to the speed of a training step that consists of them only. The other
 * operations of a step (attention, normalization, losses, optimizer) take additional time, so real training is slower.
 * If the model has no linear layers, the result is 0. type: data type of the matmuls. Errors: AOE_ENOMEM. */
int aoei_step_speed(double *tokens_per_second, const aoe_context *ctx, const aoei_encoder_config *c, aoei_dtype type,
                    aoe_error *err);
