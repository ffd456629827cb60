/* SPDX-License-Identifier: MIT
 * Whole-word masking (Devlin et al. 2019, section 3.1 and the "whole word masking" note of
 * google-research/bert): words of a sequence are drawn at random for prediction;
 * 80% of their tokens become [MASK], 10% a random token, and 10% stay unchanged.
 */
#ifndef AOEI_TRAIN_MASKING_H
#define AOEI_TRAIN_MASKING_H

#include "base/random.h"
#include "model/model.h"

typedef struct aoei_masking {
    double rate;       /* fraction of the tokens to predict */
    int32_t mask;      /* id of [MASK] */
    uint8_t *kind;     /* [vocab] aoei_token_kind, owned */
    int32_t *ordinary; /* [n_ordinary] ids that may replace a masked token, owned */
    size_t n_ordinary;
    size_t vocab;
    size_t *words;  /* [longest] starts of the words of the current sequence, owned */
    size_t longest; /* most tokens of a sequence */
} aoei_masking;

/* Errors: AOE_EFORMAT (the tokenizer has no [MASK] token), AOE_ENOMEM. */
int aoei_masking_create(aoei_masking *m, const aoe_model *model, double rate, size_t longest, aoe_error *err);
void aoei_masking_destroy(aoei_masking *m); /* accepts a zeroed struct */
/* Number of tokens among ids [n] that may be predicted: all but special tokens and [UNK]. */
size_t aoei_masking_maskable(const aoei_masking *m, const int32_t *ids, size_t n);
/* Masks ids [n] in place; index and target [n] receive the masked positions, ascending, and their original ids. Returns their
 * number: max(1, round(rate x number of ordinary tokens)), or fewer if whole words do not add up to it. A pure function of the
 * ids and the generator. */
size_t aoei_masking_apply(const aoei_masking *m, aoei_rng *rng, int32_t *ids, size_t n, uint32_t *index, int32_t *target);

#endif
