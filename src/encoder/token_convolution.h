/* SPDX-License-Identifier: MIT
 * The convolutions between the encoder and the pooling, in models with the module CNN of sentence-transformers
 * (config.modules.n_kernels > 0). Their outputs are concatenated in the order of the kernels and replace the last
 * hidden state as the input of the pooling. They compute in float32. In other models, the functions do nothing.
 */
#pragma once

#include "encoder/encoder_ops.h"

/* Allocates s->tokens and, in training, s->grad_tokens, and the workspaces of the convolutions. */
void aoei_token_convolution_layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c,
                                   aoei_arena *arena);
/* Computes s->tokens [N, aoei_token_width(c)] from the last hidden state [N, D]. w: [aoei_slot_count] weights. */
void aoei_token_convolution_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                                    const aoei_batch *batch, aoei_encoder_state *s);
/* Computes s->grad_last from s->grad_tokens, and adds the weight gradients to grads. */
void aoei_token_convolution_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                                     const aoei_tensor *grads, const aoei_batch *batch, aoei_encoder_state *s);
