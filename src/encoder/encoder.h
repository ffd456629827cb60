/* SPDX-License-Identifier: MIT
 * Forward and backward pass of an encoder for a batch of packed texts, for all architectures. Activations are stored in
 * an arena of the caller. In comments, N is the number of tokens in the batch, and D is the hidden size.
 */
#pragma once

#include "encoder/config.h"
#include "encoder/encoder_ops.h"
#include "nn/batch.h"
#include "nn/tensor.h"

/* Allocates the activations and workspaces of *s in `arena`. The batches of later calls may have at most n_tokens
 * tokens, n_texts texts, and `longest` tokens per text. If the arena is a measuring arena (base/arena.h), only the size
 * is computed. The size depends on the configuration, these limits, the mode and the number of threads. Errors:
 * AOE_ENOMEM. */
int aoei_encoder_layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena,
                        size_t n_tokens, size_t n_texts, size_t longest, aoei_encoder_mode mode, aoe_error *err);

/* Runs the encoder. w: [aoei_slot_count] weights. Returns the input of the pooling [N, aoei_token_width], which is the
 * last hidden state, a weighted mean of hidden states (aoei_pools_mean_state) or the output of convolutions or of an
 * LSTM (aoei_has_token_module). The result is owned by *s and valid until the next call. The batch must not exceed the
 * limits that were passed to aoei_encoder_layout. */
aoei_tensor aoei_encoder_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                                 const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop);
/* Returns a hidden state [n_tokens, D] of the last forward pass. If layer is 0, it is the embedding output; otherwise
 * it is the output of layer `layer` - 1, where layers are counted from 0. In pre-norm models, the last hidden state is
 * the output of the final norm. n_tokens is the number of tokens in the batch. In inference, only the embedding output
 * and the last hidden state are available. */
aoei_tensor aoei_encoder_hidden(const aoei_encoder_state *s, const aoei_encoder_config *c, size_t layer,
                                size_t n_tokens);
/* Runs the backward pass and adds the gradients of all weights to `grads`, an array of aoei_slot_count tensors. If a
 * tensor of `grads` is absent, the gradient of its weight is not computed. Before the call, the caller writes the
 * gradient of the last hidden state to aoei_encoder_grad_last. If with_first is 1, the caller also writes the gradient
 * of the embedding output to aoei_encoder_grad_first. The backward pass overwrites the activations, so it can run only
 * once per forward pass. */
void aoei_encoder_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                           const aoei_tensor *grads, const aoei_batch *batch, aoei_encoder_state *s,
                           const aoei_encoder_dropout *drop, int with_first);
/* Returns 1 if a model with this pooling supports gradients of pooled hidden states (aoei_encoder_taps): the encoder is
 * a transformer, and its pooling uses only one hidden state. */
int aoei_encoder_has_taps(const aoei_encoder_config *c, aoe_pooling pooling);
/* Computes the pooled vectors out[n_texts, D] (float32) from the hidden states of the last forward pass. `last` is the
 * last hidden state. */
void aoei_encoder_pool(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor out, aoe_pooling pooling,
                       aoei_tensor last, const aoei_batch *batch, const aoei_encoder_state *s);
/* The backward pass of aoei_encoder_pool. dout[n_texts, D] is the gradient of the pooled vectors. Writes the gradients
 * that aoei_encoder_backward reads. Returns the value that the caller must pass to aoei_encoder_backward as
 * with_first. */
int aoei_encoder_pool_backward(const aoe_context *ctx, const aoei_encoder_config *c, aoe_pooling pooling,
                               aoei_tensor dout, aoei_tensor last, const aoei_batch *batch, aoei_encoder_state *s);
/* Returns the buffer [n_tokens, aoei_token_width] for the gradient of the token vectors that are the input of the
 * pooling. A caller that does not call aoei_encoder_pool_backward writes the gradient to it. */
aoei_tensor aoei_encoder_grad_tokens(const aoei_encoder_state *s, const aoei_encoder_config *c, size_t n_tokens);
/* Return the buffers [n_tokens, D] for the gradients of the last hidden state and of the embedding output. The caller
 * writes the gradients to them. */
aoei_tensor aoei_encoder_grad_last(const aoei_encoder_state *s, size_t n_tokens);
aoei_tensor aoei_encoder_grad_first(const aoei_encoder_state *s, size_t n_tokens);
