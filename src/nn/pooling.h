/* SPDX-License-Identifier: MIT
 * Pooling of token vectors into one vector per text, and L2 normalization.
 */
#pragma once

#include "base/context.h"
#include "nn/batch.h"
#include "nn/tensor.h"

/* Returns the number of vectors that the pooling concatenates: 1, unless it is a concatenation (AOE_POOLING_CONCAT). */
size_t aoei_pooling_parts(aoe_pooling pooling);
/* Returns pooling i of a concatenation, or `pooling` itself if it is not a concatenation. */
aoe_pooling aoei_pooling_part(aoe_pooling pooling, size_t i);
/* Returns 1 if the pooling computes a vector from the hidden states of the tokens, not from the cells of a RAN. */
static inline int aoei_pooling_over_tokens(aoe_pooling pooling) {
    return pooling < AOE_POOLING_CELL_LAST || pooling > AOE_POOLING_CELL_MAX;
}

/* Computes out[n_texts, P D] (float32), where P is aoei_pooling_parts(pooling). first[N, D] is the embedding output,
 * and last[N, D] is the output of the last layer; both have one type. `first` is used only by the mode first-last-avg
 * and may be absent in other modes. aoe.h defines the pooling modes. The modes last-two-avg and layer1-last-avg compute
 * the mean over tokens; the mean over layers precedes them (encoder/layer_pooling.h). The mode mask is not supported
 * (aoei_pool_token_forward). The tokens in batch->skipped are excluded. If they are all tokens of a text, its vector is
 * zero. */
void aoei_pool_forward(const aoe_context *ctx, aoei_tensor out, aoe_pooling pooling, aoei_tensor first,
                       aoei_tensor last, const aoei_batch *batch);
/* Computes the gradients of pooling. All gradients are float32. dlast is overwritten. dfirst is overwritten in the mode
 * first-last-avg; in other modes, it is unchanged. In the mode max, the gradient of a column is assigned to the first
 * token that has the maximum of the column. `last` is the output of the last layer, as in aoei_pool_forward. */
void aoei_pool_backward(const aoe_context *ctx, aoei_tensor dfirst, aoei_tensor dlast, aoe_pooling pooling,
                        aoei_tensor dout, aoei_tensor last, const aoei_batch *batch);
/* Copies the vector of the first token with this id of each text from last[N, D] to out[n_texts, D] (float32). If a
 * text does not contain the id, its vector is zero. batch->skipped is not used. */
void aoei_pool_token_forward(const aoe_context *ctx, aoei_tensor out, aoei_tensor last, const aoei_batch *batch,
                             int32_t id);
/* The backward pass of aoei_pool_token_forward. dlast[N, D] (float32) is overwritten. */
void aoei_pool_token_backward(const aoe_context *ctx, aoei_tensor dlast, aoei_tensor dout, const aoei_batch *batch,
                              int32_t id);
/* Scales each row to unit L2 norm: x / max(|x|, 1e-12). The norm is computed in double. */
void aoei_l2_normalize(const aoe_context *ctx, aoei_tensor t);
