/* SPDX-License-Identifier: MIT
 * A batch of tokenized texts, the input of the encoder. The tokens of all texts are stored
 * consecutively, without padding.
 */
#ifndef AOEI_NN_BATCH_H
#define AOEI_NN_BATCH_H

#include <stddef.h>
#include <stdint.h>

/* A batch of texts whose tokens are stored one after the other. The caller owns all arrays. */
typedef struct aoei_batch {
    size_t n_tokens;            /* N, number of tokens of all texts */
    size_t n_texts;             /* number of texts */
    size_t longest;             /* maximum sequence length in tokens */
    const int32_t *ids;         /* [N] token ids in [0, V) */
    const uint32_t *positions;  /* [N] 0, 1, ... within each text */
    const uint32_t *offsets;    /* [n_texts + 1] index of each text's first token; offsets[n_texts] = N */
    const uint32_t *text_index; /* [n_texts] index of each text within the optimizer step, which selects its dropout masks;
                                   NULL: 0, 1, ... */
    const uint32_t *first; /* [n_texts] if the texts are chunks of longer texts: position of the first token of each chunk in
                              the long text, which selects its dropout masks; NULL: 0 */
} aoei_batch;

#endif
