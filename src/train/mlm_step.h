/* SPDX-License-Identifier: MIT
 * One step of masked-language-model pretraining (Devlin et al. 2019, section 3.1; Hugging
 * Face transformers, modeling_bert.py, BertForMaskedLM): encoder forward pass, head for the masked
 * tokens only, cross entropy, backward pass. The caller reads the files and masks the tokens. A
 * large batch is processed in chunks, whose gradients are accumulated token by token.
 *
 *   rows = last[masked]; h = norm(gelu(rows W^T + b)); logits = h E^T + c    with E the token embeddings
 */
#ifndef AOEI_TRAIN_MLM_STEP_H
#define AOEI_TRAIN_MLM_STEP_H

#include "model/text_batch.h"
#include "encoder/encoder.h"
#include "encoder/params.h"

/* Maximum sizes of a chunk, and modes of the step. */
typedef struct aoei_mlm_step_options {
    size_t tokens;   /* maximum tokens of a chunk */
    size_t texts;    /* maximum texts of a chunk */
    size_t longest;  /* maximum tokens of a text */
    aoei_dtype type; /* data type of activations and matmuls */
    int recompute;   /* 1: the backward pass recomputes the activations of each layer */
} aoei_mlm_step_options;

typedef struct aoei_mlm_step {
    aoe_context *ctx; /* borrowed */
    aoei_encoder_config config;
    aoei_mlm_step_options o;
    aoei_arena arena; /* memory of all tensors; owned */
    aoei_params params;
    aoei_encoder_state state;
    aoei_batch_buffer buffer; /* chunk after masking; filled by the caller */
    size_t n_masked;          /* masked tokens of the chunk; set by the caller */
    uint32_t *index;          /* [tokens], owned; positions of the masked tokens, ascending; first n_masked set by the caller */
    int32_t *target;          /* [tokens], owned; ids of the masked tokens before masking; first n_masked set by the caller */
    /* tensors of the head, one row per masked token, of type o.type unless stated otherwise */
    aoei_tensor rows;      /* [tokens, D], hidden states of the masked tokens */
    aoei_tensor pre;       /* [tokens, D], before the activation function */
    aoei_tensor act;       /* [tokens, D], after the activation function */
    aoei_tensor normed;    /* [tokens, D], after the norm */
    aoei_tensor stats;     /* [tokens, 2] float32, statistics of the norm */
    aoei_tensor logits;    /* [block, V] float32 */
    aoei_tensor d_logits;  /* [block, V] of type o.type; the same memory as logits in float32 */
    aoei_tensor d_normed;  /* [tokens, D] float32, gradient of normed */
    aoei_tensor workspace; /* workspace for packing the weights of the head */
    double *loss;          /* [block], owned; loss of each token of a block */
    uint8_t *best;         /* [block], owned; 1 if the target has the largest logit */
} aoei_mlm_step;

/* Sums over the chunks of a batch. */
typedef struct aoei_mlm_sums {
    double loss;    /* cross entropy in nats, summed over masked tokens */
    size_t masked;  /* masked tokens */
    size_t correct; /* masked tokens whose target has the largest logit */
} aoei_mlm_sums;

/* c->mlm_head must be 1. The caller sets the parameters (aoei_params_load). Errors: AOE_ENOMEM. */
int aoei_mlm_step_create(aoei_mlm_step *s, aoe_context *ctx, const aoei_encoder_config *c, const aoei_mlm_step_options *o,
                         aoe_error *err);
void aoei_mlm_step_destroy(aoei_mlm_step *s); /* accepts a zeroed struct */
/* Takes the memory of all tensors from `arena`, which may be a measuring arena. */
int aoei_mlm_step_layout(aoei_mlm_step *s, aoe_context *ctx, const aoei_encoder_config *c, const aoei_mlm_step_options *o,
                         aoei_arena *arena, aoe_error *err);
/* Processes the chunk in s->buffer: adds its loss and counts to *sums, and scale times the gradient of its summed loss to the
 * gradients. scale 0: no gradients. drop NULL: no dropout. */
void aoei_mlm_step_gradient(aoei_mlm_step *s, const aoei_encoder_dropout *drop, double scale, aoei_mlm_sums *sums);

#endif
