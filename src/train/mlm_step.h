/* SPDX-License-Identifier: MIT
 * One step of masked-language-model pretraining (Devlin et al. 2019, section 3.1; Hugging
 * Face transformers, modeling_bert.py, BertForMaskedLM): encoder forward, the head at the
 * masked tokens only, cross entropy, backward. Reading files and masking are up to the
 * caller. A batch that is too large is processed in chunks, whose gradients are accumulated
 * token after token.
 *
 *   rows = last[masked]; h = norm(gelu(rows W^T + b)); logits = h E^T + c    with E the token embeddings
 */
#ifndef AOEI_TRAIN_MLM_STEP_H
#define AOEI_TRAIN_MLM_STEP_H

#include "model/text_batch.h"
#include "encoder/encoder.h"
#include "encoder/params.h"

/* Bounds of a chunk. */
typedef struct aoei_mlm_step_options {
    size_t tokens;  /* most tokens or texts of a chunk */
    size_t texts;   /* most tokens or texts of a chunk */
    size_t longest; /* most tokens of a text */
    aoei_dtype type;
    int recompute; /* 1: backward recomputes the activations of each layer */
} aoei_mlm_step_options;

typedef struct aoei_mlm_step {
    aoe_context *ctx; /* borrowed */
    aoei_encoder_config config;
    aoei_mlm_step_options o;
    aoei_arena arena;
    aoei_params params;
    aoei_encoder_state state;
    aoei_batch_buffer buffer; /* the chunk after masking; filled by the caller */
    size_t n_masked;          /* masked tokens of the chunk; set by the caller, as the next two fields */
    uint32_t *index;          /* [tokens] the masked tokens, ascending; owned */
    int32_t *target;          /* [tokens] their ids before masking; owned */
    /* the head, one row per masked token; of the type of the step unless stated */
    aoei_tensor rows, pre, act, normed; /* [tokens, D] */
    aoei_tensor stats;                  /* [tokens, 2] float32 */
    aoei_tensor logits, d_logits;       /* [block, V]: float32, and in bf16 their gradient */
    aoei_tensor d_normed;               /* [tokens, D] float32 */
    aoei_tensor workspace;              /* packing room of the head's layers */
    double *loss;                       /* [block], owned */
    uint8_t *best;                      /* [block], owned */
} aoei_mlm_step;

/* Sums over the chunks of a batch. */
typedef struct aoei_mlm_sums {
    double loss;    /* nats, over masked tokens */
    size_t masked;  /* tokens */
    size_t correct; /* masked tokens whose logit is the largest of all */
} aoei_mlm_sums;

/* c has mlm_head. The parameters are not set: aoei_params_load. Errors: AOE_ENOMEM. */
int aoei_mlm_step_create(aoei_mlm_step *s, aoe_context *ctx, const aoei_encoder_config *c, const aoei_mlm_step_options *o,
                         aoe_error *err);
void aoei_mlm_step_destroy(aoei_mlm_step *s); /* accepts a zeroed struct */
/* Lays the step's tensors out in `arena` (or measures them, if the arena measures). */
int aoei_mlm_step_layout(aoei_mlm_step *s, aoe_context *ctx, const aoei_encoder_config *c, const aoei_mlm_step_options *o,
                         aoei_arena *arena, aoe_error *err);
/* Processes the chunk in s->buffer: adds its values to *sums, and scale times the gradient of its summed loss to the
 * gradients. scale 0: values only. drop NULL: no dropout. */
void aoei_mlm_step_gradient(aoei_mlm_step *s, const aoei_encoder_dropout *drop, double scale, aoei_mlm_sums *sums);

#endif
