/* SPDX-License-Identifier: MIT
 * Whole-word masking for masked-language-model training (Devlin et al. 2019, section 3.1, and the "whole word masking" note of
 * google-research/bert). Random words of a sequence are selected for prediction. Of their tokens, 80% are replaced by [MASK],
 * 10% are replaced by a random token, and 10% stay unchanged.
 */
#ifndef AOEI_TRAIN_MASKING_H
#define AOEI_TRAIN_MASKING_H

#include "base/random.h"
#include "model/model.h"

typedef struct aoei_masking {
    double rate;       /* fraction of the tokens that are selected for prediction */
    int32_t mask;      /* token id of [MASK] */
    uint8_t *kind;     /* [vocab] aoei_token_kind of each token: start of a word, continuation of a word, special, ...; owned */
    int32_t *ordinary; /* [n_ordinary] ids of the word tokens; only these tokens are selected for prediction or used as random
                          replacements; owned */
    size_t n_ordinary; /* number of word tokens */
    size_t vocab;      /* number of token ids that exist in both the tokenizer and the model */
    size_t *words;     /* [longest] index of the first token of each word of the current sequence; owned */
    size_t longest;    /* maximum number of tokens of a sequence */
} aoei_masking;

/* Prepares masking for the tokenizer of the model. Errors: AOE_EFORMAT (the tokenizer has no usable [MASK] token or no word
 * tokens), AOE_ENOMEM. */
int aoei_masking_create(aoei_masking *m, const aoe_model *model, double rate, size_t longest, aoe_error *err);
void aoei_masking_destroy(aoei_masking *m); /* accepts a zeroed struct */
/* Returns the number of tokens among ids[n] that may be selected for prediction: all except special tokens and [UNK]. */
size_t aoei_masking_maskable(const aoei_masking *m, const int32_t *ids, size_t n);
/* Masks ids[n] in place. Writes the positions of the selected tokens in ascending order to index[n], and their original ids to
 * target[n]. Returns the number of selected tokens. It is at most max(1, round(rate * number of selectable tokens)). It is
 * smaller if the remaining words have too many tokens, and 0 if no token is selectable. The result depends only on the ids and
 * the state of the generator. */
size_t aoei_masking_apply(const aoei_masking *m, aoei_rng *rng, int32_t *ids, size_t n, uint32_t *index, int32_t *target);

#endif
