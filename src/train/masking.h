/* SPDX-License-Identifier: MIT
 * Whole-word masking (Devlin et al. 2019, section 3.1 and the "whole word masking" note of
 * google-research/bert). Random words of a sequence are selected for prediction. 80% of their
 * tokens are replaced by [MASK], 10% by a random token, and 10% stay unchanged.
 */
#ifndef AOEI_TRAIN_MASKING_H
#define AOEI_TRAIN_MASKING_H

#include "base/random.h"
#include "model/model.h"

typedef struct aoei_masking {
    double rate;       /* fraction of the tokens to predict */
    int32_t mask;      /* id of [MASK] */
    uint8_t *kind;     /* [vocab], owned; aoei_token_kind of each token */
    int32_t *ordinary; /* [n_ordinary], owned; ids of tokens that may be masked or used as random replacements */
    size_t n_ordinary;
    size_t vocab;   /* tokens that both tokenizer and model have */
    size_t *words;  /* [longest], owned; index of the first token of each word of the current sequence */
    size_t longest; /* maximum tokens of a sequence */
} aoei_masking;

/* Errors: AOE_EFORMAT (the tokenizer has no [MASK] token), AOE_ENOMEM. */
int aoei_masking_create(aoei_masking *m, const aoe_model *model, double rate, size_t longest, aoe_error *err);
void aoei_masking_destroy(aoei_masking *m); /* accepts a zeroed struct */
/* Number of tokens among ids [n] that may be predicted: all except special tokens and [UNK]. */
size_t aoei_masking_maskable(const aoei_masking *m, const int32_t *ids, size_t n);
/* Masks ids [n] in place. Writes the masked positions in ascending order to index [n] and their original ids to target [n].
 * Returns the number of masked tokens: max(1, round(rate * maskable tokens)), or fewer if no combination of whole words gives
 * this number. The result is a pure function of the ids and the generator. */
size_t aoei_masking_apply(const aoei_masking *m, aoei_rng *rng, int32_t *ids, size_t n, uint32_t *index, int32_t *target);

#endif
