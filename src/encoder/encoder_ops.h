/* SPDX-License-Identifier: MIT
 * What an implementation of an encoder provides: a table of functions (aoei_encoder_ops), and the state that they work in.
 * Callers use the functions of encoder.h. Shape letters: N tokens of the batch, D hidden size, V vocabulary size.
 */
#ifndef AOEI_ENCODER_ENCODER_OPS_H
#define AOEI_ENCODER_ENCODER_OPS_H

#include "encoder/config.h"
#include "nn/batch.h"
#include "nn/tensor.h"

/* How an encoder runs. The layout of its state depends on it. */
typedef struct aoei_encoder_mode {
    aoei_dtype type; /* type of activations and GEMM operands; statistics and weight gradients are float32 */
    int training;    /* 1: forward keeps what backward needs */
    int recompute;   /* 1 (training): layers keep only their output, and backward runs the forward pass of each layer again */
} aoei_encoder_mode;

/* Dropout of one optimiser step. A NULL pointer to it means no dropout. */
typedef struct aoei_encoder_dropout {
    double hidden;    /* probability, on hidden states */
    double attention; /* probability, on attention probabilities */
    uint32_t key[2];  /* random key of the step, from aoei_dropout_key */
} aoei_encoder_dropout;

/* Activations and workspace of an encoder. Everything it points to is in the arena that it was laid out in. */
typedef struct aoei_encoder_state {
    size_t n_tokens, n_texts, longest; /* largest batch: tokens, texts, tokens of a text */
    aoei_encoder_mode mode;
    size_t kept_bytes;      /* bytes that forward leaves for backward (inference: for the next layer) */
    aoei_tensor *hidden;    /* [layers + 1] hidden states [N, D]: embedding output, then the output of every layer */
    aoei_tensor grad_last;  /* [N, D] float32 gradient of the last hidden state (training) */
    aoei_tensor grad_first; /* [N, D] float32 gradient of the embedding output that comes from the pooling (training) */
    void *own;              /* state of the implementation, whose type only the implementation knows */
} aoei_encoder_state;

/* The transform of the masked-LM head, from the hidden states of n masked tokens to the decoder's input. */
typedef struct aoei_mlm_transform {
    const aoe_context *ctx;
    const aoei_encoder_config *config;
    const aoei_tensor *w;  /* [AOEI_HW_COUNT] weights of the head */
    const aoei_tensor *g;  /* [AOEI_HW_COUNT] their gradients, to which backward adds */
    aoei_tensor in;        /* [n, D] hidden states of the masked tokens */
    aoei_tensor pre;       /* [n, D] output of the dense layer, before the activation */
    aoei_tensor act;       /* [n, D] after the activation; backward overwrites it */
    aoei_tensor out;       /* [n, D] after the norm: input of the decoder */
    aoei_tensor stats;     /* [n, 2] float32 statistics of the norm */
    aoei_tensor workspace; /* workspace of the dense layer */
} aoei_mlm_transform;

/* ctx: where the work runs. c: the configuration. w, grads: [aoei_slot_count] weights and their gradients. The documentation
 * of encoder.h applies. */
typedef struct aoei_encoder_ops {
    /* Lays out `hidden`, the gradients and `own` in the arena and sets kept_bytes; the other members of s are set. */
    void (*layout)(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena);
    void (*forward)(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_batch *batch,
                    aoei_encoder_state *s, const aoei_encoder_dropout *drop);
    void (*backward)(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_tensor *grads,
                     const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop, int with_first);
    void (*pool)(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor out, aoe_pooling pooling, aoei_tensor last,
                 const aoei_batch *batch, const aoei_encoder_state *s);
    int (*pool_backward)(const aoe_context *ctx, const aoei_encoder_config *c, aoe_pooling pooling, aoei_tensor dout,
                         aoei_tensor last, const aoei_batch *batch, aoei_encoder_state *s);
    /* Operations (two per multiply-add) of the GEMMs of one layer in a forward pass over one text. */
    double (*layer_operations)(const aoei_encoder_config *c, size_t tokens);
    /* Dropout before the masked-LM head: x [N, D], hidden states or their gradients, in place; NULL: none. */
    void (*mlm_dropout)(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor x, const aoei_batch *batch,
                        const aoei_encoder_dropout *drop);
    void (*mlm_forward)(const aoei_mlm_transform *t); /* from `in` to `out`; NULL: no masked-LM head */
    /* d [n, D] float32: on entry the gradient of `out`, on return that of `in`. */
    void (*mlm_backward)(const aoei_mlm_transform *t, aoei_tensor d);
} aoei_encoder_ops;

#endif
