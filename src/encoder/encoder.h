/* SPDX-License-Identifier: MIT
 * Forward and backward pass of an encoder over packed batches, for all architectures. Activations are stored in the caller's
 * arena. The code that lays them out also measures their size. Shape letters: N tokens of the batch, D hidden size.
 */
#ifndef AOEI_ENCODER_ENCODER_H
#define AOEI_ENCODER_ENCODER_H

#include "encoder/config.h"
#include "encoder/encoder_ops.h"
#include "nn/batch.h"
#include "nn/tensor.h"

/* Lays out the state in `arena`, for batches with at most n_tokens tokens and n_texts texts of at most `longest` tokens
 * each. With a measuring arena (base/arena.h), only the size is computed. The size depends on the configuration, these limits,
 * the mode and the number of threads. Errors: AOE_ENOMEM. */
int aoei_encoder_layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena,
                        size_t n_tokens, size_t n_texts, size_t longest, aoei_encoder_mode mode, aoe_error *err);

/* Runs the encoder. w: [aoei_slot_count] weights. Returns the last hidden state [N, D], which is owned by s and valid until
 * the next call. The batch must respect the limits given to aoei_encoder_layout. */
aoei_tensor aoei_encoder_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                                 const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop);
/* Returns the hidden state [n_tokens, D] after the first `layer` layers of the last forward pass; 0: the embedding output.
 * After inference, only the embedding output and the last hidden state are available. */
aoei_tensor aoei_encoder_hidden(const aoei_encoder_state *s, const aoei_encoder_config *c, size_t layer, size_t n_tokens);
/* Backward pass: adds to the gradients of all weights. It starts from the gradient that the caller wrote to
 * aoei_encoder_grad_last and, if with_first is 1, also to aoei_encoder_grad_first. grads: [aoei_slot_count] gradients of
 * the weights; absent tensors are skipped. Call it at most once per forward pass, because it overwrites the activations. */
void aoei_encoder_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_tensor *grads,
                           const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop, int with_first);
/* Pools the hidden states of the last forward pass to out [n_texts, D] float32. last: the last hidden state. */
void aoei_encoder_pool(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor out, aoe_pooling pooling,
                       aoei_tensor last, const aoei_batch *batch, const aoei_encoder_state *s);
/* The backward pass of aoei_encoder_pool: writes the gradients from which aoei_encoder_backward starts. dout: [n_texts, D]
 * gradient of out. Returns the value of with_first for aoei_encoder_backward. */
int aoei_encoder_pool_backward(const aoe_context *ctx, const aoei_encoder_config *c, aoe_pooling pooling, aoei_tensor dout,
                               aoei_tensor last, const aoei_batch *batch, aoei_encoder_state *s);
/* Return the gradient buffers [n_tokens, D] of the last hidden state and of the embedding output, for the caller to fill. */
aoei_tensor aoei_encoder_grad_last(const aoei_encoder_state *s, size_t n_tokens);
aoei_tensor aoei_encoder_grad_first(const aoei_encoder_state *s, size_t n_tokens);

#endif
