/* SPDX-License-Identifier: MIT
 * A training file ready for the loop: every text tokenized once, labels, the
 * identity class of each text (for identical-sentence detection), and the
 * figures the plan needs. Immutable after creation.
 */
#ifndef AOEI_TRAIN_DATASET_H
#define AOEI_TRAIN_DATASET_H

#include "model/encode.h"

typedef struct aoei_dataset {
    size_t n;                /* pairs */
    aoei_token_lists tokens; /* [2n] x0 y0 x1 y1 ... */
    double *labels;          /* [n], owned */
    uint32_t *groups;        /* [2n], owned: equal numbers are equal token lists */
    double lowest, highest;  /* labels */
    size_t longest;          /* tokens of the longest text */
    size_t truncated;        /* texts that lost tokens */
    uint64_t fingerprint;    /* of tokens and labels: tells a changed file from the same one */
} aoei_dataset;

/* path is for messages. Errors: AOE_EFORMAT with file and line. */
int aoei_dataset_create(aoei_dataset *d, const aoe_model *m, const aoe_pairs *pairs, const char *path, aoe_error *err);
void aoei_dataset_destroy(aoei_dataset *d); /* accepts a zeroed one */
/* Tokens of the n_pairs largest pairs together: no batch of that many pairs has more. */
int aoei_dataset_batch_tokens(const aoei_dataset *d, size_t n_pairs, size_t *tokens, aoe_error *err);

#endif
