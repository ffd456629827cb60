/* SPDX-License-Identifier: MIT
 * The LSTM between the encoder and the pooling, in models with the module LSTM of sentence-transformers
 * (config.modules.lstm_dims > 0). The outputs of the forward and the reverse direction of the last layer are
 * concatenated and replace the last hidden state as the input of the pooling. The LSTM computes in float32. In other
 * models, the functions do nothing.
 */
#pragma once

#include "encoder/encoder_ops.h"

/* Allocates s->tokens and, in training, s->grad_tokens, and the buffers of the LSTM. */
void aoei_token_lstm_layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c,
                            aoei_arena *arena);
/* Computes s->tokens [N, aoei_token_width(c)] from the last hidden state [N, D]. w: [aoei_slot_count] weights. drop:
 * NULL if there is no dropout between the layers. */
void aoei_token_lstm_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                             const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop);
/* Computes s->grad_last from s->grad_tokens, and adds the weight gradients to grads. */
void aoei_token_lstm_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                              const aoei_tensor *grads, const aoei_batch *batch, aoei_encoder_state *s,
                              const aoei_encoder_dropout *drop);
