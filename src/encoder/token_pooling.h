/* SPDX-License-Identifier: MIT
 * Pooling over the hidden states of the tokens of a text: functions for the members pool and pool_backward of
 * aoei_encoder_ops. Folders that use encoder/ but not nn/ include this header for the functions of nn/pooling.h that
 * describe poolings.
 */
#pragma once

#include "encoder/encoder_ops.h"
#include "nn/batch.h"
#include "nn/pooling.h"
#include "nn/tensor.h"

void aoei_token_pool(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor out, aoe_pooling pooling,
                     aoei_tensor last, const aoei_batch *batch, const aoei_encoder_state *s);
/* Computes the gradient dlast[N, D] (float32) of one hidden state h[N, D] from the gradient of its pooled vectors
 * dout[n_texts, P D]. The pooling must not use other hidden states. */
void aoei_token_pool_gradient(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor dlast,
                              aoe_pooling pooling, aoei_tensor dout, aoei_tensor h, const aoei_batch *batch);
int aoei_token_pool_backward(const aoe_context *ctx, const aoei_encoder_config *c, aoe_pooling pooling,
                             aoei_tensor dout, aoei_tensor last, const aoei_batch *batch, aoei_encoder_state *s);
