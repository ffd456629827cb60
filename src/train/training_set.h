/* SPDX-License-Identifier: MIT
 * A training file ready for the loop: every text tokenized once, labels, the
 * identity class of each text (for identical-sentence detection and batches without
 * duplicates), and the figures the plan needs. Immutable after creation.
 */
#ifndef AOEI_TRAIN_TRAINING_SET_H
#define AOEI_TRAIN_TRAINING_SET_H

#include "aoe_data.h"
#include "table/examples.h"
#include "model/text_batch.h"

typedef struct aoei_dataset {
    aoe_example_kind kind;
    size_t n;                /* examples */
    size_t arity;            /* texts of an example: 2, of triplets 3 */
    aoei_token_lists tokens; /* of all texts, alternatives after each other, position after position */
    size_t *first;           /* [n * arity + 1], owned: first text of each position */
    double *labels;          /* [n], owned */
    uint32_t *groups;        /* [texts], owned: equal numbers are equal token lists */
    double lowest, highest;  /* labels */
    size_t longest;          /* tokens of the longest text */
    size_t truncated;        /* texts that lost tokens */
    uint64_t fingerprint;    /* of tokens, alternatives and labels: tells a changed file from the same one */
} aoei_dataset;

/* prompt, doc_prompt: templates for the first position and the others, NULL: the model's. The name of the examples is for
 * messages. Errors: AOE_EFORMAT with file and line. */
int aoei_dataset_create(aoei_dataset *d, const aoe_model *m, const aoei_examples *e, const char *prompt, const char *doc_prompt,
                        aoe_error *err);
void aoei_dataset_destroy(aoei_dataset *d); /* accepts a zeroed one */
/* Tokens of the n examples that are largest with their longest alternatives: no batch of n examples has more. */
int aoei_dataset_batch_tokens(const aoei_dataset *d, size_t n, size_t *tokens, aoe_error *err);

#endif
