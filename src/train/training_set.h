/* SPDX-License-Identifier: MIT
 * A training file in memory: every text tokenized once, the labels, and the identity class
 * of each text (for identical-sentence detection and batches without duplicates). Immutable
 * after creation.
 */
#ifndef AOEI_TRAIN_TRAINING_SET_H
#define AOEI_TRAIN_TRAINING_SET_H

#include "aoe_data.h"
#include "table/examples.h"
#include "model/text_batch.h"

typedef struct aoei_dataset {
    aoe_example_kind kind;
    size_t n;                /* examples */
    size_t arity;            /* texts per example: 2, for triplets 3 */
    aoei_token_lists tokens; /* of all texts; the alternatives of a position follow each other */
    size_t *first;           /* [n * arity + 1], owned: index of the first text of each position */
    double *labels;          /* [n], owned */
    uint32_t *groups;        /* [texts], owned: equal numbers mark equal token lists */
    double lowest, highest;  /* labels */
    size_t longest;          /* most tokens of a text */
    size_t truncated;        /* texts that were truncated */
    uint64_t fingerprint;    /* hash of tokens, alternatives and labels: detects a changed file */
} aoei_dataset;

/* prompt, doc_prompt: templates for the first position and for the others; NULL: the prompt of the model. Errors: AOE_EFORMAT
 * with file and line. */
int aoei_dataset_create(aoei_dataset *d, const aoe_model *m, const aoei_examples *e, const char *prompt, const char *doc_prompt,
                        aoe_error *err);
void aoei_dataset_destroy(aoei_dataset *d); /* accepts a zeroed struct */
/* *tokens: an upper bound of the tokens of a batch of n examples, the sum over the n longest examples. Errors: AOE_ENOMEM. */
int aoei_dataset_batch_tokens(const aoei_dataset *d, size_t n, size_t *tokens, aoe_error *err);

#endif
