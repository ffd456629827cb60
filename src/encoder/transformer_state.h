/* SPDX-License-Identifier: MIT
 * Activations and workspaces of the transformer encoder, in the arena of the encoder's state. In the shapes, N is the
 * number of tokens in the batch, D the hidden size, H the number of heads, d the number of components per head, K the
 * number of key-value heads, and I the feed-forward size.
 */
#pragma once

#include <stdint.h>

#include "nn/tensor.h"

/* Activations of one layer. In training, they are kept for the backward pass. Only the input of the down layer is not
 * kept: the backward pass recomputes it from `up` and `gate`. */
typedef struct aoei_layer_state {
    aoei_tensor in; /* [N, D] input of the attention: output of norm 1 (pre-norm), or input of the layer (post-norm) */
    aoei_tensor stats1; /* [N, 2] float32 statistics of norm 1; [N, 1] for RMSNorm */
    aoei_tensor qkv;    /* [N, H d + 2 K d] queries, keys and values; queries and keys are rotated if there are rotary
                           positions */
    aoei_tensor qk; /* [N, H d + K d] queries and keys before their norms, if they have norms; used in training only */
    aoei_tensor stats_q, stats_k; /* [N, H] and [N, K] float32 statistics of the norms of the queries and of the keys */
    aoei_tensor heads;            /* [N, H d] output of the attention before its output layer */
    aoei_tensor sum1;   /* [N, D] residual sum of the attention: input of norm 1 (post-norm), or of norm 2 (pre-norm) */
    aoei_tensor mid;    /* [N, D] input of the feed-forward: output of norm 1 (post-norm), or of norm 2 (pre-norm) */
    aoei_tensor stats2; /* [N, 2] float32 statistics of norm 2; [N, 1] for RMSNorm */
    aoei_tensor gate;   /* [N, I] output of the gate layer, in gated models; in inference, it uses the memory of
                           `ffn_hidden` */
    aoei_tensor up;     /* [N, I] output of the up layer; used in training, and in inference of gated models */
    aoei_tensor attended, expanded; /* [N, D] outputs of attention and feed-forward before norm 3 and norm 4, if the
                                       model has these norms; used in training only */
    aoei_tensor stats3, stats4;     /* [N, 1 or 2] float32 statistics of norm 3 and of norm 4 */
    aoei_tensor sum2; /* [N, D] residual sum of the feed-forward: input of norm 2 (post-norm), or the tensor `out`
                         (pre-norm) */
    aoei_tensor out;  /* [N, D] output of the layer */
} aoei_layer_state;

typedef struct aoei_transformer_state {
    aoei_layer_state *layers; /* [layers] activations of each layer, in the arena of the encoder's state */
    aoei_tensor embedded;     /* [N, E] input of the projection that follows the embedding, if there is a projection */
    aoei_tensor grad_embed;   /* [N, E] float32 gradient of `embedded`; used in training only */
    aoei_tensor embed_sum;    /* [N, E] input of the norm of the embedding, if there is one; used in training only */
    aoei_tensor embed_stats;  /* [N, 2] float32 statistics of the norm of the embedding; used in training only */
    aoei_tensor final; /* [N, D] output of the norm that follows the last layer; used in training of pre-norm models
                          only */
    aoei_tensor final_stats; /* [N, 1 or 2] float32 statistics of the norm that follows the last layer; used in training
                                of pre-norm models only */
    aoei_tensor rope;        /* [N, d] float32 cosines and sines for the position of each token, if there are rotary
                                positions */
    aoei_tensor rope_local;  /* [N, d] the same for the layers that use rope_local of the configuration, if there are
                                any */
    aoei_tensor ffn_hidden;  /* buffer that all layers use for the input of the down layer [N, I] and, in training, for
                                the gradient of qkv [N, H d + 2 K d] */
    aoei_tensor scratch;     /* workspace of the attention */
    aoei_tensor score_bias;  /* [H, 2 longest - 1] biases of the attention scores for each distance, if there are
                                biases */
    aoei_tensor score_grads; /* [texts H, AOEI_SCORE_BUCKETS] gradients of the score biases of each text; used in
                                training of models with learned biases only */
    aoei_tensor relative;    /* [2 S, D] embeddings of relative positions after their norm, if there are any; S is their
                                span */
    aoei_tensor relative_keys, relative_queries; /* [2 S, H d] keys and queries of relative positions in the current
                                                    layer; in the backward pass, then their gradients as operands of
                                                    matmuls */
    uint32_t *relative_rows;                     /* [2 longest - 1] row of each distance */
    size_t longest;             /* maximum number of tokens in a text; used with relative positions only */
    aoei_tensor relative_sum;   /* [2 S, D] embeddings of relative positions before their norm; used in training only */
    aoei_tensor relative_stats; /* [2 S, 2] float32 statistics of their norm; used in training only */
    aoei_tensor relative_grad;  /* [2 S, D] float32 gradient of `relative`, summed over layers; used in training only */
    aoei_tensor relative_dkeys, relative_dqueries; /* [2 S, H d] float32 gradients; used in training only */
    aoei_tensor workspace; /* workspace in which linear layers pack operands; used if weights are not packed */
    aoei_tensor int8_rows; /* workspace for the int8 input of a linear layer; used in inference with int8 only */
    aoei_tensor low;       /* workspace of the adapters, for the output of lora_A */
    aoei_tensor dropped;   /* workspace of the adapters, for the input after dropout; used in training only */
    aoei_tensor grad_b; /* [N, D] gradient as an operand of matmuls: after dropout, or rounded to bf16; used in training
                           only */
    aoei_tensor grad_norm;  /* [N, D] float32 gradient of the output of a norm; used in training of pre-norm models
                               only */
    aoei_tensor grad_qk;    /* [N, H d + K d] float32 gradients of normalized queries and keys; used in bf16 training
                               only */
    aoei_tensor grad_heads; /* [N, H d] gradient of `heads`; used in training only */
} aoei_transformer_state;
