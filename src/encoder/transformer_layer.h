/* SPDX-License-Identifier: MIT
 * Between the files of the encoder: one layer of one batch, and the calls through
 * which each of its linear layers goes, forward and backward, with its adapter when
 * it has one.
 */
#ifndef AOEI_ENCODER_TRANSFORMER_LAYER_H
#define AOEI_ENCODER_TRANSFORMER_LAYER_H

#include "encoder/encoder.h"
#include "nn/adapter.h"
#include "nn/attention.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/linear.h"

typedef struct aoei_block {
    const aoe_context *ctx;
    const aoei_encoder_config *c;
    const aoei_tensor *w; /* [AOEI_LW_COUNT] the layer's weights */
    const aoei_tensor *g; /* [AOEI_LW_COUNT] their gradients; NULL in forward */
    const aoei_batch *batch;
    const aoei_encoder_state *s;
    const aoei_encoder_dropout *drop; /* NULL: none */
    size_t layer;
    aoei_layer_state l; /* rows of the batch */
    aoei_tensor x;      /* [N, D] the layer's input */
    aoei_tensor act;    /* [N, I] room for what follows the activation */
} aoei_block;

static inline aoei_tensor aoei_no_tensor(void) {
    return (aoei_tensor){0};
}

/* Layer `layer` of the batch; grads: of all slots, or NULL. */
aoei_block aoei_block_of(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_tensor *grads,
                         const aoei_batch *batch, const aoei_encoder_state *s, const aoei_encoder_dropout *drop, size_t layer);
void aoei_block_forward(const aoei_block *b);

/* y = x w^T + bias of the linear layer `kind` (its weight's slot). e: what follows; NULL: nothing. Its room is set here. */
void aoei_block_linear(const aoei_block *b, size_t kind, aoei_tensor y, aoei_tensor x, const aoei_linear_epilogue *e);
/* Its backward, from dy: weight and bias gradients, and what dx asks for (dx, accumulate, activation, gate). */
void aoei_block_linear_backward(const aoei_block *b, size_t kind, aoei_tensor dy, aoei_tensor x, aoei_linear_grads dx);

/* The adapter beside the linear layer `kind`; 0: it has none. */
int aoei_block_adapter(const aoei_block *b, size_t kind, aoei_adapter *a);

/* The attention of the layer. */
aoei_attention aoei_block_attention(const aoei_block *b);
/* Dropout of a site; p 0 when there is none. */
aoei_dropout aoei_encoder_site(const aoei_encoder_dropout *drop, double p, uint32_t site);
static inline aoei_dropout aoei_block_dropout(const aoei_block *b, uint32_t kind) {
    return aoei_encoder_site(b->drop, b->drop ? b->drop->hidden : 0, aoei_site(b->layer, kind));
}

/* The encoder's norm, with weight and bias w[0], w[1] and gradients g[0], g[1]. stats absent: not kept. */
void aoei_encoder_norm(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor y, aoei_tensor stats, aoei_tensor x,
                       const aoei_tensor *w);
void aoei_encoder_norm_backward(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor dx, const aoei_tensor *g,
                                aoei_tensor dy, aoei_tensor x, aoei_tensor stats, const aoei_tensor *w);

#endif
