/* SPDX-License-Identifier: MIT
 * A training file in memory: the tokens and the group of each text, and the label of each example. Texts with equal tokens are
 * in the same group; identical-sentence detection and batches without duplicates use the groups. A data set does not change
 * after creation.
 */
#ifndef AOEI_TRAIN_TRAINING_SET_H
#define AOEI_TRAIN_TRAINING_SET_H

#include "aoe_data.h"
#include "table/examples.h"
#include "model/text_batch.h"

typedef struct aoei_dataset {
    aoe_example_kind kind;   /* kind of the examples: pairs, positives, triplets or texts */
    size_t n;                /* number of examples */
    size_t arity;            /* texts per example: 1 for plain texts, 2 for pairs and positives, 3 for triplets */
    aoei_token_lists tokens; /* tokens of all texts; alternative texts of a position are adjacent; owned */
    size_t *first;    /* [n * arity + 1] index of the first alternative text of each position of each example; the positions are
                         text1 and text2, or query, positive and negative; owned */
    double *labels;   /* [n] labels; owned */
    uint32_t *groups; /* [number of texts] number of the group of identical texts to which each text belongs; owned */
    double lowest, highest; /* lowest and highest label */
    size_t longest;         /* number of tokens of the longest text */
    size_t truncated;       /* number of texts that were truncated */
    uint64_t fingerprint;   /* hash of tokens, alternatives and labels, which detects a changed file */
} aoei_dataset;

/* Tokenizes the examples e. prompt: template of the texts at the first position of an example. doc_prompt: template of the
 * texts at the other positions. If a template is NULL, the prompt of the model is used. Errors: AOE_EFORMAT with file and
 * line. */
int aoei_dataset_create(aoei_dataset *d, const aoe_model *m, const aoei_examples *e, const char *prompt, const char *doc_prompt,
                        aoe_error *err);
void aoei_dataset_destroy(aoei_dataset *d); /* accepts a zeroed struct */
/* Sets *tokens to the number of tokens of the n longest examples, an upper bound for any batch of n different examples.
 * Errors: AOE_ENOMEM. */
int aoei_dataset_batch_tokens(const aoei_dataset *d, size_t n, size_t *tokens, aoe_error *err);

#endif
