/* SPDX-License-Identifier: MIT
 * One transformer layer over one batch: its tensors, its forward pass, and the parts that forward and backward share.
 */
#ifndef AOEI_ENCODER_TRANSFORMER_LAYER_H
#define AOEI_ENCODER_TRANSFORMER_LAYER_H

#include "encoder/encoder_ops.h"
#include "encoder/slot_layout.h"
#include "encoder/transformer_state.h"
#include "nn/adapter.h"
#include "nn/attention.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "nn/tensor.h"

/* One layer of one forward or backward pass. */
typedef struct aoei_layer {
    const aoe_context *ctx;
    const aoei_encoder_config *c;
    const aoei_tensor *w; /* [AOEI_LW_COUNT] weights of the layer */
    const aoei_tensor *g; /* [AOEI_LW_COUNT] gradients of the weights; NULL in the forward pass */
    const aoei_batch *batch;
    const aoei_transformer_state *s;
    const aoei_encoder_dropout *drop; /* dropout of the optimizer step; NULL: no dropout */
    size_t layer;                     /* index of the layer */
    aoei_layer_state l;               /* tensors of the layer, limited to the rows of the batch */
    aoei_tensor x;                    /* [N, D] input of the layer */
    aoei_tensor act;                  /* [N, I] output of the activation */
} aoei_layer;

/* Describes layer `layer` of a batch. w, grads: [aoei_slot_count] weights and gradients of the whole encoder; grads is NULL
 * in the forward pass. */
aoei_layer aoei_layer_of(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_tensor *grads,
                         const aoei_batch *batch, const aoei_encoder_state *s, const aoei_encoder_dropout *drop, size_t layer);
/* Computes layer->l.out from layer->x. */
void aoei_layer_forward(const aoei_layer *layer);

/* y = x w^T + bias, with the weights of linear layer `kind` and of its adapter. e: further operations that the GEMM
 * fuses, whose workspace this function sets; NULL: none. */
void aoei_layer_linear(const aoei_layer *layer, size_t kind, aoei_tensor y, aoei_tensor x, const aoei_linear_epilogue *e);
/* Sets *a to the adapter of linear layer `kind` and returns 1. Returns 0 if the layer has no adapter. */
int aoei_layer_adapter(const aoei_layer *layer, size_t kind, aoei_adapter *a);
/* Returns the options of the layer's attention. */
aoei_attention aoei_layer_attention(const aoei_layer *layer);
/* Returns the dropout at site `kind` (AOEI_SITE_*) of the layer; its probability p is 0 if there is no dropout. */
aoei_dropout aoei_layer_dropout(const aoei_layer *layer, uint32_t kind);

/* Returns the dropout with probability p at a site of the encoder; its probability is 0 if drop is NULL. */
aoei_dropout aoei_dropout_site(const aoei_encoder_dropout *drop, double p, uint32_t site);
/* y = norm(x) with the norm type of the encoder, weight w[0] and bias w[1]. stats: statistics for backward; absent: not
 * stored. */
void aoei_transformer_norm(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor y, aoei_tensor stats,
                           aoei_tensor x, const aoei_tensor *w);

#endif
