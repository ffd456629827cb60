/* SPDX-License-Identifier: MIT
 * A training file in memory: the tokens of every text, the labels, and the identity class of each
 * text. Texts with equal tokens have the same identity class, which identical-sentence detection and
 * batches without duplicates use. Immutable after creation.
 */
#ifndef AOEI_TRAIN_TRAINING_SET_H
#define AOEI_TRAIN_TRAINING_SET_H

#include "aoe_data.h"
#include "table/examples.h"
#include "model/text_batch.h"

typedef struct aoei_dataset {
    aoe_example_kind kind;
    size_t n;                /* examples */
    size_t arity;            /* texts per example: 1 for plain texts, 2 for pairs and positives, 3 for triplets */
    aoei_token_lists tokens; /* owned; tokens of all texts, alternatives of a position adjacent */
    size_t *first;           /* [n * arity + 1], owned; index of the first text of each position */
    double *labels;          /* [n], owned */
    uint32_t *groups;        /* [texts], owned; identity class of each text */
    double lowest, highest;  /* lowest and highest label */
    size_t longest;          /* maximum tokens of a text */
    size_t truncated;        /* number of truncated texts */
    uint64_t fingerprint;    /* hash of tokens, alternatives and labels, to detect a changed file */
} aoei_dataset;

/* Tokenizes the examples e. prompt, doc_prompt: templates for the first position and for the other positions; NULL: the prompt
 * of the model. Errors: AOE_EFORMAT with file and line. */
int aoei_dataset_create(aoei_dataset *d, const aoe_model *m, const aoei_examples *e, const char *prompt, const char *doc_prompt,
                        aoe_error *err);
void aoei_dataset_destroy(aoei_dataset *d); /* accepts a zeroed struct */
/* Sets *tokens to the sum over the n longest examples, an upper bound for any batch of n distinct examples. Errors: AOE_ENOMEM.
 */
int aoei_dataset_batch_tokens(const aoei_dataset *d, size_t n, size_t *tokens, aoe_error *err);

#endif
