/* SPDX-License-Identifier: MIT
 * Whole-word masking (Devlin et al. 2019, section 3.1 and the "whole word masking" note of
 * google-research/bert): words of a sequence, drawn at random, are to be predicted;
 * of their tokens 80% become [MASK], 10% another token, 10% stay as they are.
 */
#ifndef AOEI_TRAIN_MASKING_H
#define AOEI_TRAIN_MASKING_H

#include "base/random.h"
#include "model/model.h"

typedef struct aoei_masking {
    double rate;       /* share of the tokens to be predicted */
    int32_t mask;      /* id of [MASK] */
    uint8_t *kind;     /* [vocab] aoei_token_kind, owned */
    int32_t *ordinary; /* [n_ordinary] ids that may stand in for a masked token, owned */
    size_t n_ordinary;
    size_t vocab;
    size_t *words;  /* [longest] where the words of the sequence at hand begin, owned */
    size_t longest; /* tokens of a sequence, at most */
} aoei_masking;

/* Errors: AOE_EFORMAT (the tokenizer has no [MASK] token), AOE_ENOMEM. */
int aoei_masking_create(aoei_masking *m, const aoe_model *model, double rate, size_t longest, aoe_error *err);
void aoei_masking_destroy(aoei_masking *m); /* accepts a zeroed one */
/* How many of ids [n] may be predicted: tokens that are no specials, [UNK] being one. */
size_t aoei_masking_maskable(const aoei_masking *m, const int32_t *ids, size_t n);
/* Masks ids [n] in place; index and target [n] receive the places, ascending, and what stood there. Returns their number:
 * max(1, round(rate x tokens that are no specials)), or less where whole words do not come out even. A pure function of the
 * ids and the generator. */
size_t aoei_masking_apply(const aoei_masking *m, aoei_rng *rng, int32_t *ids, size_t n, uint32_t *index, int32_t *target);

#endif
