/* SPDX-License-Identifier: MIT
 * The interface that every encoder implements: a table of functions (aoei_encoder_ops) and the state they use. Callers use
 * the functions of encoder.h. Shape letters: N tokens of the batch, D hidden size, V vocabulary size.
 */
#ifndef AOEI_ENCODER_ENCODER_OPS_H
#define AOEI_ENCODER_ENCODER_OPS_H

#include "encoder/config.h"
#include "nn/batch.h"
#include "nn/tensor.h"

/* How an encoder runs. The memory layout depends on the mode. */
typedef struct aoei_encoder_mode {
    aoei_dtype type; /* type of activations and GEMM operands; statistics and weight gradients are float32 */
    int training;    /* 1: the forward pass keeps the activations that backward needs */
    int recompute;   /* 1 (training): layers keep only their output, and backward repeats the forward pass of each layer */
} aoei_encoder_mode;

/* Dropout of one optimizer step. A NULL pointer to this struct means no dropout. */
typedef struct aoei_encoder_dropout {
    double hidden;    /* dropout probability on hidden states */
    double attention; /* dropout probability on attention probabilities */
    uint32_t key[2];  /* random key of the step, from aoei_dropout_key */
} aoei_encoder_dropout;

/* Activations and workspace of an encoder. All pointers refer to the arena in which the state was laid out. */
typedef struct aoei_encoder_state {
    size_t n_tokens, n_texts, longest; /* maximum numbers of tokens and texts of a batch, and of tokens of one text */
    aoei_encoder_mode mode;
    size_t kept_bytes;      /* bytes that the forward pass keeps (training: for backward; inference: for the next layer) */
    aoei_tensor *hidden;    /* [layers + 1] hidden states [N, D]: embedding output, then the output of every layer */
    aoei_tensor grad_last;  /* [N, D] float32 gradient of the last hidden state (training) */
    aoei_tensor grad_first; /* [N, D] float32 gradient of the embedding output that comes from the pooling (training) */
    void *own;              /* state of the implementation; only the implementation knows its type */
} aoei_encoder_state;

/* The dense layer, activation and norm of the masked-LM head, which compute the decoder's input from the hidden states of n
 * masked tokens. */
typedef struct aoei_mlm_transform {
    const aoe_context *ctx;
    const aoei_encoder_config *config;
    const aoei_tensor *w;  /* [AOEI_HW_COUNT] weights of the head */
    const aoei_tensor *g;  /* [AOEI_HW_COUNT] gradients of the weights, to which backward adds */
    aoei_tensor in;        /* [n, D] hidden states of the masked tokens */
    aoei_tensor pre;       /* [n, D] output of the dense layer, before the activation */
    aoei_tensor act;       /* [n, D] output of the activation; overwritten by backward */
    aoei_tensor out;       /* [n, D] output of the norm: input of the decoder */
    aoei_tensor stats;     /* [n, 2] float32 statistics of the norm */
    aoei_tensor workspace; /* workspace of the dense layer */
} aoei_mlm_transform;

/* Functions of an encoder. encoder.h documents forward, backward, pool and pool_backward. ctx: context that runs the work;
 * c: configuration; w, grads: [aoei_slot_count] weights and their gradients. */
typedef struct aoei_encoder_ops {
    /* Lays out `hidden`, the gradients and `own` in the arena, and sets kept_bytes. The caller has set all other members of
     * s. */
    void (*layout)(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena);
    void (*forward)(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_batch *batch,
                    aoei_encoder_state *s, const aoei_encoder_dropout *drop);
    void (*backward)(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_tensor *grads,
                     const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop, int with_first);
    void (*pool)(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor out, aoe_pooling pooling, aoei_tensor last,
                 const aoei_batch *batch, const aoei_encoder_state *s);
    int (*pool_backward)(const aoe_context *ctx, const aoei_encoder_config *c, aoe_pooling pooling, aoei_tensor dout,
                         aoei_tensor last, const aoei_batch *batch, aoei_encoder_state *s);
    /* Returns the number of floating-point operations of the GEMMs of one layer in the forward pass of one text; a multiply-add
     * counts as two. */
    double (*layer_operations)(const aoei_encoder_config *c, size_t tokens);
    /* Applies dropout before the masked-LM head to x [N, D] in place: hidden states or their gradients. NULL: no dropout. */
    void (*mlm_dropout)(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor x, const aoei_batch *batch,
                        const aoei_encoder_dropout *drop);
    void (*mlm_forward)(const aoei_mlm_transform *t); /* computes `out` from `in`; NULL: no masked-LM head */
    /* d [n, D] float32: on entry the gradient of `out`, on return the gradient of `in`. */
    void (*mlm_backward)(const aoei_mlm_transform *t, aoei_tensor d);
} aoei_encoder_ops;

#endif
