/* SPDX-License-Identifier: MIT
 * The embeddings of relative positions of DeBERTa (He et al. 2021): one vector of hidden size per row of distances
 * (nn/disentangled.h), and a norm. All layers use them: the query and key layers of a layer compute the queries and
 * keys of the rows from them. aoe applies no dropout to these embeddings, unlike transformers.
 */
#pragma once

#include "base/arena.h"
#include "encoder/encoder_ops.h"
#include "encoder/transformer_state.h"

/* Allocates the tensors of *t for relative embeddings and computes the row of each distance, if the configuration has
 * them. */
void aoei_relative_layout(aoei_transformer_state *t, const aoei_encoder_state *s, const aoei_encoder_config *c,
                          aoei_arena *arena);
/* Computes t->relative, the embeddings after their norm, from the weights w. */
void aoei_relative_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                           const aoei_transformer_state *t);
/* Sets the gradient of the embeddings to 0, before the backward pass of the layers. */
void aoei_relative_clear(const aoe_context *ctx, const aoei_transformer_state *t);
/* Computes the weight gradients of the embeddings from t->relative_grad. */
void aoei_relative_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                            const aoei_tensor *grads, const aoei_transformer_state *t);
