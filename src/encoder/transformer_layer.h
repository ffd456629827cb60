/* SPDX-License-Identifier: MIT
 * One transformer layer for one batch: its tensors, its forward pass, and functions that the forward and the backward
 * pass use.
 */
#pragma once

#include "encoder/encoder_ops.h"
#include "encoder/slot_layout.h"
#include "encoder/transformer_state.h"
#include "nn/adapter.h"
#include "nn/attention.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "nn/tensor.h"

/* One layer in one forward or backward pass. */
typedef struct aoei_layer {
    const aoe_context *ctx;
    const aoei_encoder_config *c;
    const aoei_tensor *w; /* [AOEI_LW_COUNT] weights of the layer */
    const aoei_tensor *g; /* [AOEI_LW_COUNT] weight gradients; NULL in the forward pass */
    const aoei_batch *batch;
    const aoei_transformer_state *s;
    const aoei_encoder_dropout *drop; /* dropout of the optimizer step; NULL: no dropout */
    size_t layer;                     /* index of the layer */
    aoei_layer_state l;               /* tensors of the layer, limited to the rows of the batch */
    aoei_tensor x;                    /* [N, D] input of the layer */
    aoei_tensor act; /* [N, I] input of the down layer of the feed-forward: activation(up), or activation(gate) * up if
                        the feed-forward is gated */
} aoei_layer;

/* Returns the arguments for layer `layer` in a forward or backward pass. w and grads are arrays of aoei_slot_count
 * weights of the whole encoder and their gradients. In the forward pass, grads is NULL. */
aoei_layer aoei_layer_of(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                         const aoei_tensor *grads, const aoei_batch *batch, const aoei_encoder_state *s,
                         const aoei_encoder_dropout *drop, size_t layer);
/* Computes layer->l.out, the output of the layer, from layer->x. */
void aoei_layer_forward(const aoei_layer *layer);

/* Computes y = x w^T + bias with the weights of linear layer `kind`, and adds the output of its adapter. If the linear
 * layers are computed in int8, x is quantized (nn/int8_rows.h), unless it is int8 already. *e contains the epilogue
 * (nn/linear.h) that is computed together with the matmul; e is NULL if there is none. The function sets the workspace
 * and the adapter of the epilogue. */
void aoei_layer_linear(const aoei_layer *layer, size_t kind, aoei_tensor y, aoei_tensor x,
                       const aoei_linear_epilogue *e);
/* Sets *a to the adapter of linear layer `kind` and returns 1. Returns 0 if the layer has no adapter. */
int aoei_layer_adapter(const aoei_layer *layer, size_t kind, aoei_adapter *a);
/* Computes the keys and queries of relative positions with the key and query layers, if the model has relative
 * positions. */
void aoei_layer_relative(const aoei_layer *layer);
/* Returns the options of the attention of the layer. */
aoei_attention aoei_layer_attention(const aoei_layer *layer);
/* Returns the table of cosines and sines of the rotary positions of the layer. */
aoei_tensor aoei_layer_rope(const aoei_layer *layer);
/* Returns the parameters of dropout at site `kind` (AOEI_SITE_*) of the layer. If there is no dropout, the probability
 * p of the result is 0. */
aoei_dropout aoei_layer_dropout(const aoei_layer *layer, uint32_t kind);

/* Returns the parameters of dropout with probability p at a site of the encoder. If drop is NULL, the probability of
 * the result is 0. */
aoei_dropout aoei_dropout_site(const aoei_encoder_dropout *drop, double p, uint32_t site);
/* Computes y = norm(x) with the norm type of the encoder, the weight w[0] and the bias w[1]. `stats` receives the
 * statistics for the backward pass; if stats is absent, they are not stored. */
void aoei_transformer_norm(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor y, aoei_tensor stats,
                           aoei_tensor x, const aoei_tensor *w);
