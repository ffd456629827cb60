/* SPDX-License-Identifier: MIT
 * One step of masked-language-model pretraining (Devlin et al. 2019, section 3.1; BertForMaskedLM in modeling_bert.py
 * of Hugging Face transformers). A step consists of the forward pass of the encoder, the prediction head for the masked
 * tokens, cross entropy, and the backward pass. The caller provides masked token ids. A large batch is processed in
 * chunks.
 * The gradients of a chunk are added to the gradients of the chunks before it, so the division into chunks can change
 * the rounding.
 * The head computes the logits as follows. M are the token embeddings, norm is the layer normalization, and W, b and c
 * are weights of the head. GELU is replaced by the activation of the head if it is another function:
 *     rows = last_hidden_state[masked positions]; h = norm(gelu(rows W^T + b)); logits = h M^T + c
 */
#pragma once

#include "model/text_batch.h"
#include "encoder/encoder.h"
#include "encoder/params.h"
#include "train/gradient_tree.h"

/* Maximum sizes of a chunk, and settings of the step. */
typedef struct aoei_mlm_step_options {
    size_t tokens;                 /* maximum number of tokens in a chunk */
    size_t texts;                  /* maximum number of texts in a chunk */
    size_t longest;                /* maximum number of tokens in a text */
    aoei_dtype type;               /* data type of activations and matmuls */
    aoei_optimizer_kind optimizer; /* optimizer, which determines the moments of the parameters */
    int recompute;                 /* 1: the backward pass recomputes the activations of each layer */
    const aoei_shards *shards;     /* shards of the batches; NULL: one shard; borrowed */
} aoei_mlm_step_options;

/* Parameters and buffers that all training steps use. */
typedef struct aoei_mlm_step {
    aoe_context *ctx;           /* context for computations; borrowed */
    aoei_encoder_config config; /* configuration of the encoder */
    aoei_mlm_step_options o;    /* maximum sizes and settings */
    aoei_arena arena;           /* memory of all tensors; owned */
    aoei_params params;         /* weights, gradients and AdamW moments; their memory is in `arena` */
    aoei_gradient_tree tree;    /* gradients of the shards; its memory is in `arena` */
    aoei_encoder_state state;   /* activations; their memory is in `arena` */
    aoei_batch_buffer buffer;   /* token ids of the chunk after masking; set by the caller */
    size_t n_masked;            /* number of masked tokens of the chunk; set by the caller */
    uint32_t *index; /* [tokens] positions of the masked tokens in the chunk, ascending; the caller sets the first
                        n_masked elements; owned */
    int32_t *target; /* [tokens] ids of the masked tokens before masking; the caller sets the first n_masked elements;
                        owned */
    /* Tensors of the head; their memory is in `arena`. They have the data type o.type unless stated otherwise. tokens:
     * o.tokens. D: hidden size. E: number of columns in the token embeddings. V: vocabulary size. block: number of rows
     * for which logits are computed at a time. */
    aoei_tensor rows;      /* [tokens, D] hidden states of the masked tokens */
    aoei_tensor pre;       /* [tokens, E] input of the activation function */
    aoei_tensor act;       /* [tokens, E] output of the activation function */
    aoei_tensor normed;    /* [tokens, E] output of the normalization */
    aoei_tensor stats;     /* [tokens, 2] float32 statistics of the normalization, which the backward pass uses */
    aoei_tensor logits;    /* [block, V] float32 logits */
    aoei_tensor d_logits;  /* [block, V] gradient of the logits; if o.type is float32, it uses the memory of `logits` */
    aoei_tensor d_normed;  /* [tokens, E] float32 gradient of `normed` */
    aoei_tensor d_rows;    /* [tokens, D] float32 gradient of `rows`; if E is D, it uses the memory of `d_normed` */
    aoei_tensor workspace; /* buffer for packed weights of the head's matmuls */
    double *loss;          /* [block] loss of each token of the current block in nats; owned */
    uint8_t *is_correct;   /* [block] 1 for each token of the current block whose original id has the largest logit,
                              otherwise 0; owned */
} aoei_mlm_step;

/* Sums over the masked tokens of all chunks of a batch. */
typedef struct aoei_mlm_sums {
    double loss;    /* sum of the cross entropies of the masked tokens in nats */
    size_t masked;  /* number of masked tokens */
    size_t correct; /* number of masked tokens whose original id has the largest logit */
} aoei_mlm_sums;

/* Allocates all memory of a step. c->mlm_head must be 1. After this call, the caller sets the parameters
 * (aoei_params_load). Errors: AOE_ENOMEM. */
int aoei_mlm_step_create(aoei_mlm_step *s, aoe_context *ctx, const aoei_encoder_config *c,
                         const aoei_mlm_step_options *o, aoe_error *err);
void aoei_mlm_step_destroy(aoei_mlm_step *s); /* accepts a zeroed struct */
/* Takes the memory of all tensors from the arena. If the arena is a measuring arena, only the size is computed. */
int aoei_mlm_step_layout(aoei_mlm_step *s, aoe_context *ctx, const aoei_encoder_config *c,
                         const aoei_mlm_step_options *o, aoei_arena *arena, aoe_error *err);
/* Sets *arena_bytes to the size of the arena of a step, and *other_bytes to the size of the other buffers, without the
 * token ids of the chunk. Errors: AOE_ENOMEM. */
int aoei_mlm_step_measure(size_t *arena_bytes, size_t *other_bytes, aoe_context *ctx, const aoei_encoder_config *c,
                          const aoei_mlm_step_options *o, aoe_error *err);
/* Processes the chunk in s->buffer. Adds its loss and its counts to *sums. The gradient of the chunk's loss (the sum
 * over its masked tokens) is multiplied by scale and added to the gradients of the parameters. If scale is 0, no
 * gradients are computed. drop: dropout, or NULL for none. */
void aoei_mlm_step_gradient(aoei_mlm_step *s, const aoei_encoder_dropout *drop, double scale, aoei_mlm_sums *sums);
