/* SPDX-License-Identifier: MIT
 * Pooling of token vectors into one vector per text, and L2 normalization.
 */
#ifndef AOEI_NN_POOLING_H
#define AOEI_NN_POOLING_H

#include "base/context.h"
#include "nn/batch.h"
#include "nn/tensor.h"

/* out[n_texts, D] float32 from first and last [N, D], which have one type. `first` is the embedding output, and `last` is the
 * output of the last layer. `first` is read only in the mode first-last-avg and may be absent in other modes. aoe.h defines the
 * pooling modes. */
void aoei_pool_forward(const aoe_context *ctx, aoei_tensor out, aoe_pooling pooling, aoei_tensor first, aoei_tensor last,
                       const aoei_batch *batch);
/* All gradients are float32. dlast is overwritten. dfirst is overwritten in the mode first-last-avg and unchanged in other
 * modes. For last-max, the first token that has the maximum receives the gradient. */
void aoei_pool_backward(const aoe_context *ctx, aoei_tensor dfirst, aoei_tensor dlast, aoe_pooling pooling, aoei_tensor dout,
                        aoei_tensor last, const aoei_batch *batch);
/* Scales rows to unit L2 norm: x / max(|x|, 1e-12), with the norm computed in double. */
void aoei_l2_normalize(const aoe_context *ctx, aoei_tensor t);

#endif
