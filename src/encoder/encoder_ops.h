/* SPDX-License-Identifier: MIT
 * The interface that every encoder implements: a table of functions (aoei_encoder_ops) and the state on which they
 * operate. Other code calls the functions of encoder.h, which call these functions. In comments, N is the number of
 * tokens in the batch, D is the hidden size, and V is the vocabulary size.
 */
#pragma once

#include "encoder/config.h"
#include "nn/batch.h"
#include "nn/tensor.h"

/* The mode in which an encoder runs. It determines which activations are kept in memory. */
typedef struct aoei_encoder_mode {
    aoei_dtype type; /* type of activations and of operands of matmuls; the statistics of norms and the gradients of
                        weights are float32 */
    int training;    /* 1: the forward pass keeps the activations that the backward pass needs */
    int recompute;   /* 1: only the output of each layer is kept, and the backward pass repeats the forward pass of each
                        layer; used in training only */
    int taps; /* 1: the backward pass may add gradients of pooled hidden states (aoei_encoder_taps); used in training
                 only */
    int int8; /* 1: weights that are packed for int8 are multiplied in int8; used in inference only */
    int unpacked; /* 1: the weights of layers may have no packed copies, so that the matmuls pack them; used in
                     inference only */
} aoei_encoder_mode;

/* Gradients of pooled hidden states that the backward pass adds. A hidden state is pooled like the last hidden
 * state. */
typedef struct aoei_encoder_taps {
    aoe_pooling pooling; /* a pooling over the tokens of one hidden state */
    /* [layers] for each hidden state except the last one, the gradient [n_texts, P D] (float32) of its pooled vectors,
     * where P is aoei_pooling_parts(pooling); if a tensor is absent, nothing is added. Borrowed */
    const aoei_tensor *grad;
} aoei_encoder_taps;

/* Vectors that replace the embedding output of the first token of each text, without position embedding, norm and
 * dropout (DiffCSE). Only transformers support them, in training. */
typedef struct aoei_first_vectors {
    aoei_tensor value; /* [n_texts, D] vectors, of the type mode.type */
    aoei_tensor grad;  /* [n_texts, D] float32; the backward pass sets it to the gradient of `value` */
} aoei_first_vectors;

/* Dropout of one optimizer step. Functions take a pointer to this struct; NULL means no dropout. */
typedef struct aoei_encoder_dropout {
    double hidden;    /* dropout probability for hidden states */
    double attention; /* dropout probability for attention probabilities */
    uint32_t key[2];  /* Philox key of the step, computed by aoei_dropout_key */
} aoei_encoder_dropout;

/* Activations and workspaces of an encoder. All pointers point into the arena from which the memory was allocated. */
typedef struct aoei_encoder_state {
    /* maximum sizes of a batch: number of tokens; number of texts; number of tokens in the longest text */
    size_t n_tokens, n_texts, longest;
    aoei_encoder_mode mode;
    size_t kept_bytes;   /* number of bytes of the activations of embedding and layers: in training, those that are kept
                            for the backward pass; in inference, those that all layers share */
    aoei_tensor *hidden; /* [layers + 1] hidden states [N, D]: the embedding output, then the output of each layer */
    aoei_tensor grad_last;  /* [N, D] float32 gradient of the last hidden state; used in training only */
    aoei_tensor grad_first; /* [N, D] float32 gradient of the embedding output that comes directly from the pooling
                               (first-last-avg); used in training only */
    aoei_tensor mean; /* [N, D] float32 weighted mean of hidden states (layer_pooling.h), the input of the pooling;
                         absent: the input of the pooling is the last hidden state */
    /* Convolutions (token_convolution.h) or LSTM (token_lstm.h) between the encoder and the pooling; absent if the
     * model has none */
    aoei_tensor tokens;            /* [N, aoei_token_width] float32 output, the input of the pooling */
    aoei_tensor grad_tokens;       /* [N, aoei_token_width] float32 gradient of `tokens`; used in training only */
    aoei_tensor unfolded;          /* convolutions: [N, D k] float32 buffer, where k is the largest kernel size */
    aoei_tensor token_workspace;   /* packing workspace of the convolutions or of the LSTM */
    struct aoei_token_lstm *lstm;  /* buffers of the LSTM */
    aoei_tensor grad_mean;         /* [N, D] float32 gradient of `mean`; used in training only */
    const aoei_encoder_taps *taps; /* gradients that the backward pass adds, set by the caller, borrowed; NULL: none */
    const aoei_first_vectors *first; /* vectors of the first tokens, set by the caller, borrowed; NULL: their
                                        embeddings */
    aoei_tensor grad_tap; /* [N, D] float32 gradient of one hidden state that comes from `taps`; absent unless mode.taps
                             is 1 */
    void *own;            /* private state of the encoder's implementation */
} aoei_encoder_state;

/* The layers of the masked-LM head before the decoder: a dense layer, an activation and a norm. They compute the input
 * of the decoder, which is the output layer over the vocabulary, from the hidden states of n masked tokens. */
typedef struct aoei_mlm_transform {
    const aoe_context *ctx;
    const aoei_encoder_config *config;
    const aoei_tensor *w;  /* [AOEI_HW_COUNT] weights of the head */
    const aoei_tensor *g;  /* [AOEI_HW_COUNT] weight gradients; the backward pass adds to them */
    aoei_tensor in;        /* [n, D] hidden states of the masked tokens */
    aoei_tensor pre;       /* [n, E] output of the dense layer, before the activation */
    aoei_tensor act;       /* [n, E] output of the activation; the backward pass overwrites it */
    aoei_tensor out;       /* [n, E] output of the norm, which is the input of the decoder */
    aoei_tensor d_out;     /* [n, E] float32 gradient of `out`; the backward pass overwrites it */
    aoei_tensor d_in;      /* [n, D] float32 gradient of `in`; may use the memory of d_out if E is D */
    aoei_tensor stats;     /* [n, 2] float32 statistics of the norm */
    aoei_tensor workspace; /* workspace of the dense layer */
} aoei_mlm_transform;

/* Functions of an encoder. encoder.h documents forward, backward, pool and pool_backward. In all functions, ctx is the
 * context that runs the computation, c is the configuration, and w and grads are arrays of aoei_slot_count weights and
 * gradients. */
typedef struct aoei_encoder_ops {
    /* Allocates the tensors s->hidden[0] to s->hidden[layers], the gradients and s->own in the arena. Sets
     * s->kept_bytes. The caller has set all other members of *s and has allocated the array s->hidden. */
    void (*layout)(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena);
    void (*forward)(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_batch *batch,
                    aoei_encoder_state *s, const aoei_encoder_dropout *drop);
    void (*backward)(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                     const aoei_tensor *grads, const aoei_batch *batch, aoei_encoder_state *s,
                     const aoei_encoder_dropout *drop, int with_first);
    void (*pool)(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor out, aoe_pooling pooling,
                 aoei_tensor last, const aoei_batch *batch, const aoei_encoder_state *s);
    int (*pool_backward)(const aoe_context *ctx, const aoei_encoder_config *c, aoe_pooling pooling, aoei_tensor dout,
                         aoei_tensor last, const aoei_batch *batch, aoei_encoder_state *s);
    int taps;     /* 1: the backward pass supports aoei_encoder_state.taps */
    int int8;     /* 1: the forward pass supports aoei_encoder_mode.int8 */
    int unpacked; /* 1: the forward pass supports aoei_encoder_mode.unpacked */
    /* Returns the number of floating-point operations of all matmuls of one layer in the forward pass, for one text of
     * `tokens` tokens. A multiplication with its addition counts as two operations. */
    double (*layer_operations)(const aoei_encoder_config *c, size_t tokens);
    /* Applies the dropout that precedes the masked-LM head to x [N, D], in place. x contains the last hidden state, or
     * its gradient. NULL: the encoder has no such dropout. */
    void (*mlm_dropout)(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor x, const aoei_batch *batch,
                        const aoei_encoder_dropout *drop);
    /* computes t->out from t->in; NULL: the encoder does not support a masked-LM head */
    void (*mlm_forward)(const aoei_mlm_transform *t);
    /* Computes the weight gradients and t->d_in from t->d_out. */
    void (*mlm_backward)(const aoei_mlm_transform *t);
} aoei_encoder_ops;
