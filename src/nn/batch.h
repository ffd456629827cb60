/* SPDX-License-Identifier: MIT
 * A batch of tokenized texts, the input of the encoder. The tokens of the texts are stored one text after the other,
 * without padding.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The columns or the tokens of the embedding output of a text that are set to zero (nn/cutoff.h). */
typedef struct aoei_cutoff {
    size_t n;              /* number of columns or tokens */
    int tokens;            /* 1: tokens; 0: columns */
    const uint32_t *index; /* [n] columns, or positions of tokens in the text; borrowed */
} aoei_cutoff;

/* A batch of texts. The caller owns all arrays. */
typedef struct aoei_batch {
    size_t n_tokens;            /* N, number of tokens in all texts together */
    size_t n_texts;             /* number of texts */
    size_t longest;             /* number of tokens in the longest text */
    const int32_t *ids;         /* [N] token ids in [0, V) */
    const uint8_t *types;       /* [N] token type of each token; NULL: all types are 0 */
    const uint32_t *positions;  /* [N] position of each token in its text: 0, 1, ..., or a permutation of these
                                   numbers */
    const uint32_t *offsets;    /* [n_texts + 1] index of the first token of each text; offsets[n_texts] is N */
    const uint32_t *text_index; /* [n_texts] index of each text within the optimizer step, which selects its dropout
                                   masks; NULL: text i has index i */
    const uint32_t *skipped;    /* [n_texts] number of tokens at the beginning of each text that the pooling excludes,
                                   which may exceed the number of tokens in the text; NULL: 0 for all texts */
    const uint32_t *first; /* [n_texts] used if the texts are parts of longer texts: for each text, the position of its
                              first token in the longer text, which selects dropout masks; NULL: all positions are 0 */
    const aoei_cutoff *cutoffs; /* [n_texts] cutoff of each text; NULL: there are no cutoffs */
} aoei_batch;
