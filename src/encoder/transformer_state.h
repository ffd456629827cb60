/* SPDX-License-Identifier: MIT
 * Activations and workspace of the transformer, in the arena of the encoder's state. config.h defines the shape letters; N is
 * the number of tokens of the batch.
 */
#ifndef AOEI_ENCODER_TRANSFORMER_STATE_H
#define AOEI_ENCODER_TRANSFORMER_STATE_H

#include "nn/tensor.h"

/* Activations of one layer. Training keeps them for backward. Only the output of the activation function is not kept; backward
 * recomputes it from `up` and `gate`. */
typedef struct aoei_layer_state {
    aoei_tensor in;     /* [N, D] pre-norm: output of norm 1; post-norm: input of the layer */
    aoei_tensor stats1; /* [N, 2] float32 statistics of norm 1; RMSNorm [N, 1] */
    aoei_tensor qkv;    /* [N, H d + 2 K d] queries, keys and values, rotated if rope is used */
    aoei_tensor heads;  /* [N, H d] output of the attention before its projection */
    aoei_tensor sum1;   /* [N, D] residual sum of the attention: input of norm 1 (post-norm) or norm 2 (pre-norm) */
    aoei_tensor mid;    /* [N, D] input of the feed-forward: output of norm 1 (post-norm) or norm 2 (pre-norm) */
    aoei_tensor stats2; /* [N, 2] float32 statistics of norm 2; RMSNorm [N, 1] */
    aoei_tensor gate;   /* [N, I] output of the gate layer (gated models; in inference it is part of `ffn_hidden`) */
    aoei_tensor up;     /* [N, I] output of the up layer (gated models, or training) */
    aoei_tensor sum2;   /* [N, D] residual sum of the feed-forward: input of norm 2 (post-norm) or `out` itself (pre-norm) */
    aoei_tensor out;    /* [N, D] output of the layer */
} aoei_layer_state;

typedef struct aoei_transformer_state {
    aoei_layer_state *layers; /* [layers] activations of each layer, in the arena */
    aoei_tensor embed_sum;    /* [N, D] input of the embedding norm, if there is one (training) */
    aoei_tensor embed_stats;  /* [N, 2] float32 statistics of the embedding norm (training) */
    aoei_tensor final;        /* [N, D] output of the norm after the last layer (pre-norm, training) */
    aoei_tensor final_stats;  /* [N, 1 or 2] float32 statistics of the norm after the last layer (pre-norm, training) */
    aoei_tensor rope;         /* [N, d] float32 cosines and sines of the batch's positions, if rope is used */
    aoei_tensor
        ffn_hidden; /* [N, max(I, H d + 2 K d)] buffer shared by all layers: output of the activation, or gradient of qkv */
    aoei_tensor scratch;    /* workspace of the attention */
    aoei_tensor workspace;  /* workspace of the linear layers, for packing (training, or frozen weights) */
    aoei_tensor low;        /* workspace of the adapters: output of lora_A */
    aoei_tensor dropped;    /* workspace of the adapters: input after dropout (training) */
    aoei_tensor grad_b;     /* [N, D] gradient as a GEMM operand: after dropout, or rounded (training) */
    aoei_tensor grad_norm;  /* [N, D] float32 gradient of the output of a norm (training, pre-norm) */
    aoei_tensor grad_heads; /* [N, H d] gradient of `heads` (training) */
} aoei_transformer_state;

#endif
