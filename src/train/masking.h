/* SPDX-License-Identifier: MIT
 * Whole-word masking for masked-language-model training (Devlin et al. 2019, section 3.1, and the "whole word masking"
 * note of google-research/bert). Random words of a sequence are selected for prediction. Each token of a selected word
 * is replaced by [MASK] with probability 0.8, and by a random token with probability 0.1. Otherwise it is not changed.
 */
#pragma once

#include "base/random.h"
#include "model/model.h"

typedef struct aoei_masking {
    double rate;   /* fraction of the tokens that are selected for prediction */
    int32_t mask;  /* token id of [MASK] */
    uint8_t *kind; /* [vocab] kind of each token id, for example start of a word, continuation of a word, or special;
                      owned */
    int32_t *ordinary; /* [n_ordinary] ids of the word tokens; only word tokens are selected for prediction or used as
                          random replacements; owned */
    size_t n_ordinary; /* number of word tokens */
    size_t vocab;      /* number of token ids that exist in both the tokenizer and the model */
    size_t *words;     /* [longest] indices of the first tokens of the words in the current sequence; owned */
    size_t longest;    /* maximum number of tokens in a sequence */
} aoei_masking;

/* Prepares masking for the tokenizer of a model. Errors: AOE_EFORMAT if the tokenizer has no usable [MASK] token or no
 * word tokens, AOE_ENOMEM. */
int aoei_masking_create(aoei_masking *m, const aoe_model *model, double rate, size_t longest, aoe_error *err);
void aoei_masking_destroy(aoei_masking *m); /* accepts a zeroed struct */
/* Returns the number of tokens in ids[n] that may be selected for prediction: all tokens except special tokens and
 * [UNK]. */
size_t aoei_masking_maskable(const aoei_masking *m, const int32_t *ids, size_t n);
/* Selects words of ids[n] for prediction and masks their tokens in place. index: [n] receives the positions of the
 * selected tokens, ascending. target: [n] receives the original ids of the selected tokens. Returns the number of
 * selected tokens, which is at most max(1, round(rate * S)), where S = aoei_masking_maskable(m, ids, n). A word is
 * skipped if its tokens would exceed this maximum, so fewer tokens may be selected. If S is 0, no token is selected.
 * The result depends only on the ids and the state of the random generator. */
size_t aoei_masking_apply(const aoei_masking *m, aoei_rng *rng, int32_t *ids, size_t n, uint32_t *index,
                          int32_t *target);
