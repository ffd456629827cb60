/* SPDX-License-Identifier: MIT
 * The one encoder: forward and backward over packed batches. Which transformer
 * it is, the configuration says. Activations live in the caller's arena; the
 * code that lays them out is also the plan of their size.
 */
#ifndef AOEI_ENCODER_ENCODER_H
#define AOEI_ENCODER_ENCODER_H

#include "encoder/config.h"
#include "encoder/ran_state.h"
#include "nn/batch.h"

/* How an encoder runs: what is laid out depends on it. */
typedef struct aoei_encoder_mode {
    aoei_dtype type; /* of activations and of the products' operands; statistics and gradients of weights are float32 */
    int training;    /* 1: backward will follow */
    int recompute;   /* training: layers keep their output alone, and backward runs each layer's forward again */
} aoei_encoder_mode;

/* Activations of one layer that backward needs. What follows the activation is not among them: backward computes it again
 * from `up` and `gate`. */
typedef struct aoei_layer_state {
    aoei_tensor in;     /* [N, D] output of norm 1 (pre-norm; else queries, keys and values see the layer's input itself) */
    aoei_tensor stats1; /* [N, 2] float32 of norm 1; RMSNorm [N, 1] */
    aoei_tensor qkv;    /* [N, H d + 2 kv d], turned by their positions where there is rope */
    aoei_tensor heads;  /* [N, H d] attention output before its projection */
    aoei_tensor sum1;   /* [N, D] residual sum of the attention: input of norm 1, pre-norm of norm 2 */
    aoei_tensor mid;    /* [N, D] input of the feed-forward: output of norm 1, pre-norm of norm 2 */
    aoei_tensor stats2; /* of norm 2 */
    aoei_tensor gate;   /* [N, I] before the activation (gated; inference: in `wide`) */
    aoei_tensor up;     /* [N, I] not gated: before the activation (training) */
    aoei_tensor sum2;   /* [N, D] residual sum of the feed-forward: input of norm 2 (pre-norm: it is `out`) */
    aoei_tensor out;    /* [N, D] */
} aoei_layer_state;

typedef struct aoei_encoder_state {
    size_t n_tokens, n_texts, longest; /* what it was laid out for: upper bounds */
    aoei_encoder_mode mode;
    size_t kept_bytes;        /* of the layout: what forward leaves for backward (inference: for the next layer) */
    aoei_tensor embed_sum;    /* [N, D] input of the embedding norm, where there is one (training) */
    aoei_tensor embed_stats;  /* [N, 2] float32 (training) */
    aoei_tensor first;        /* [N, D] embedding output, after dropout: layer 0 of golden cases */
    aoei_layer_state *layers; /* [layers], in the arena */
    aoei_tensor final;        /* [N, D] output of the norm after the last layer, where there is one (training) */
    aoei_tensor final_stats;  /* of that (training) */
    aoei_tensor rope;         /* [N, d] float32 cosines and sines of the batch, where there is rope */
    aoei_tensor wide;         /* [N, max(I, qkv)] of all layers in turn: after the activation; in backward gradients, too */
    aoei_tensor scratch;      /* attention */
    aoei_tensor room;         /* packing room of the linear layers (training, or frozen weights) */
    aoei_tensor low, dropped; /* rooms of the adapters, where there are any */
    aoei_tensor grad_a;       /* [N, D] float32 gradient flowing down (training) */
    aoei_tensor grad_b;       /* [N, D] what of it meets a product: behind a dropout, or rounded (training) */
    aoei_tensor grad_norm;    /* [N, D] float32 gradient of a norm's output (training, pre-norm) */
    aoei_tensor grad_heads;   /* [N, H d] (training) */
    aoei_tensor grad_first;   /* [N, D] float32 gradient of the embedding output from pooling (training) */
    aoei_ran_state ran;       /* of a recurrent encoder, which has of the above what is by token and `out` of its layers */
} aoei_encoder_state;

/* Lays the state out in `arena` (a measuring one plans). Bytes depend on the configuration, the bounds and the number of
 * threads. */
int aoei_encoder_layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena,
                        size_t n_tokens, size_t n_texts, size_t longest, aoei_encoder_mode mode, aoe_error *err);

/* Dropout of one optimiser step; NULL in forward and backward: none. */
typedef struct aoei_encoder_dropout {
    double hidden, attention; /* probabilities */
    uint32_t key[2];          /* aoei_dropout_key(seed, step) */
} aoei_encoder_dropout;

/* Runs the encoder. w: [aoei_slot_count]. Returns the last hidden state [N, D], in s (valid until the next call);
 * s->first is the embedding output. Batch sizes must be within the layout's bounds. */
aoei_tensor aoei_encoder_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                                 const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop);
/* Output of layer l (0: embedding output) of the last training-mode forward. */
aoei_tensor aoei_encoder_hidden(const aoei_encoder_state *s, const aoei_encoder_config *c, size_t layer, size_t n_tokens);
/* Gradients of all weights += from dlast [N, D] = aoei_encoder_grad_last (the caller wrote it there) and, when
 * with_first, from aoei_encoder_grad_first. grads: [aoei_slot_count], absent ones are skipped. Once a forward: the activations
 * that it left are used up. */
void aoei_encoder_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_tensor *grads,
                           const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop, int with_first);
/* Pooling of the last forward, whose last hidden state is `last`, to out [n_texts, D] float32. Its backward writes what
 * aoei_encoder_backward begins with, and says whether that has to look at the embedding output (with_first). */
void aoei_encoder_pool(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor out, aoe_pooling pooling,
                       aoei_tensor last, const aoei_batch *batch, const aoei_encoder_state *s);
int aoei_encoder_pool_backward(const aoe_context *ctx, aoe_pooling pooling, aoei_tensor dout, aoei_tensor last,
                               const aoei_batch *batch, aoei_encoder_state *s);
/* Where the caller puts the gradient of the last hidden state, and of the embedding output, for a batch of n_tokens. */
aoei_tensor aoei_encoder_grad_last(const aoei_encoder_state *s, size_t n_tokens);
aoei_tensor aoei_encoder_grad_first(const aoei_encoder_state *s, size_t n_tokens);

#endif
