/* SPDX-License-Identifier: MIT
 * One step of masked-language-model pretraining (Devlin et al. 2019, section 3.1; Hugging
 * Face transformers, modeling_bert.py, BertForMaskedLM): encoder forward, the head at the
 * masked tokens alone, cross entropy, and the way back. The trainer drives it; it knows no
 * files and no masking. What does not fit at once comes in chunks: gradients
 * add up, token after token.
 *
 *   rows = last[masked]; h = norm(gelu(rows W^T + b)); logits = h E^T + c    with E the word table
 */
#ifndef AOEI_TRAIN_MLM_STEP_H
#define AOEI_TRAIN_MLM_STEP_H

#include "model/text_batch.h"
#include "encoder/encoder.h"
#include "encoder/params.h"

/* Bounds of a chunk. */
typedef struct aoei_mlm_step_options {
    size_t tokens;  /* at most */
    size_t texts;   /* at most */
    size_t longest; /* tokens of a text, at most */
    aoei_dtype type;
    int recompute; /* backward runs each layer's forward again */
} aoei_mlm_step_options;

typedef struct aoei_mlm_step {
    aoe_context *ctx; /* borrowed */
    aoei_encoder_config config;
    aoei_mlm_step_options o;
    aoei_arena arena;
    aoei_params params;
    aoei_encoder_state state;
    aoei_batch_buffer buffer; /* the caller fills it with the chunk as the encoder is to see it */
    size_t n_masked;          /* set by the caller, with: */
    uint32_t *index;          /* [tokens] the masked tokens, ascending; owned */
    int32_t *target;          /* [tokens] their ids before masking; owned */
    /* the head, a row a masked token; of the step's type unless said */
    aoei_tensor rows, pre, act, normed; /* [tokens, D] */
    aoei_tensor stats;                  /* [tokens, 2] float32 */
    aoei_tensor logits, d_logits;       /* [block, V]: float32, and in bf16 their gradient */
    aoei_tensor d_normed;               /* [tokens, D] float32 */
    aoei_tensor room;                   /* packing room of the head's layers */
    double *loss;                       /* [block], owned */
    uint8_t *best;                      /* [block], owned */
} aoei_mlm_step;

/* What a chunk adds up to. */
typedef struct aoei_mlm_sums {
    double loss;    /* nats, over masked tokens */
    size_t masked;  /* tokens */
    size_t correct; /* of them, predicted: no logit above the target's */
} aoei_mlm_sums;

/* c has mlm_head. The parameters are not set: aoei_params_load. Errors: AOE_ENOMEM. */
int aoei_mlm_step_create(aoei_mlm_step *s, aoe_context *ctx, const aoei_encoder_config *c, const aoei_mlm_step_options *o,
                         aoe_error *err);
void aoei_mlm_step_destroy(aoei_mlm_step *s); /* accepts a zeroed one */
/* Lays the step's tensors out in `arena` (a measuring one plans). */
int aoei_mlm_step_layout(aoei_mlm_step *s, aoe_context *ctx, const aoei_encoder_config *c, const aoei_mlm_step_options *o,
                         aoei_arena *arena, aoe_error *err);
/* The chunk in s->buffer: adds to *sums, and scale times the gradient of its summed loss to the gradients. scale 0: values
 * alone. drop NULL: none. */
void aoei_mlm_step_gradient(aoei_mlm_step *s, const aoei_encoder_dropout *drop, double scale, aoei_mlm_sums *sums);

#endif
