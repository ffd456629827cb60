/* SPDX-License-Identifier: MIT
 * Pools the hidden states of an encoder with the pooling operations of nn/.
 */
#include "encoder/token_pooling.h"

#include "nn/batch.h"
#include "nn/pooling.h"
#include "nn/tensor.h"

void aoei_token_pool(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor out, aoe_pooling pooling,
                     aoei_tensor last, const aoei_batch *batch, const aoei_encoder_state *s) {
    if (pooling == AOE_POOLING_MASK)
        aoei_pool_token_forward(ctx, out, last, batch, c->mask_id);
    else
        aoei_pool_forward(ctx, out, pooling, aoei_tensor_rows(s->hidden[0], 0, batch->n_tokens), last, batch);
}

void aoei_token_pool_gradient(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor dlast,
                              aoe_pooling pooling, aoei_tensor dout, aoei_tensor h, const aoei_batch *batch) {
    const aoei_tensor none = {0};
    if (pooling == AOE_POOLING_MASK)
        aoei_pool_token_backward(ctx, dlast, dout, batch, c->mask_id);
    else
        aoei_pool_backward(ctx, none, dlast, pooling, dout, h, batch);
}

int aoei_token_pool_backward(const aoe_context *ctx, const aoei_encoder_config *c, aoe_pooling pooling,
                             aoei_tensor dout, aoei_tensor last, const aoei_batch *batch, aoei_encoder_state *s) {
    const size_t n = batch->n_tokens;
    if (pooling == AOE_POOLING_MASK) {
        aoei_pool_token_backward(ctx, aoei_tensor_rows(s->grad_last, 0, n), dout, batch, c->mask_id);
        return 0;
    }
    aoei_pool_backward(ctx, aoei_tensor_rows(s->grad_first, 0, n), aoei_tensor_rows(s->grad_last, 0, n), pooling, dout,
                       last, batch);
    return pooling == AOE_POOLING_FIRST_LAST_AVG;
}
