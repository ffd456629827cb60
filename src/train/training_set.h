/* SPDX-License-Identifier: MIT
 * Stores a training file in memory: the tokens of each text, the group of each text, and the label of each example. An
 * example has one or several positions, such as query, positive and negatives. A position has one text, or several
 * alternative texts. Texts with equal tokens belong to one group. Groups are used to detect identical texts and to plan
 * batches without duplicates. A data set does not change after it is created.
 */
#pragma once

#include "aoe_data.h"
#include "table/examples.h"
#include "model/text_batch.h"

typedef struct aoei_dataset {
    aoe_example_kind kind; /* kind of the examples: pairs, positives, triplets or texts */
    size_t n;              /* number of examples */
    size_t arity; /* number of texts per example: 1 for plain texts and for joined pairs, 2 for pairs and positives, 2
                     plus the number of negatives for triplets */
    aoei_token_lists tokens; /* tokens of each text; the alternative texts of a position are adjacent; owned */
    size_t *first; /* [n * arity + 1] first[i * arity + p]: index of the first alternative text at position p of example
                      i. The positions are text1 and text2, or query, positive and negatives; owned */
    double *labels;         /* [n] label of each example; owned */
    uint32_t *groups;       /* [number of texts] for each text, the number of its group of identical texts; owned */
    double lowest, highest; /* lowest and highest label */
    size_t longest;         /* maximum number of tokens in a text */
    size_t truncated;       /* number of truncated texts */
    uint64_t fingerprint;   /* hash of tokens, alternatives and labels; it detects a changed file */
} aoei_dataset;

/* Creates a data set: tokenizes the texts of the examples e. Errors: AOE_EFORMAT; the message contains the file and
 * line.
 * - prompt: template for the texts at the first position of an example; NULL: prompt of the model
 * - doc_prompt: template for the texts at all other positions; NULL: prompt of the model */
int aoei_dataset_create(aoei_dataset *d, const aoe_model *m, const aoei_examples *e, const char *prompt,
                        const char *doc_prompt, aoe_error *err);
/* Creates a data set for a cross-encoder, whose examples have arity 1: the tokens of an example are those of a text
 * pair. Labeled pairs give one example per pair. Triplets give one example with label 1 for each pair of a query and a
 * positive text, and one with label 0 for each pair of a query and a negative text. The kind of the data set is
 * AOE_EXAMPLES_PAIRS. prompt: template for the first text of each pair; NULL: prompt of the model. Errors: see
 * aoei_dataset_create. */
int aoei_dataset_create_joined(aoei_dataset *d, const aoe_model *m, const aoei_examples *e, const char *prompt,
                               aoe_error *err);
void aoei_dataset_destroy(aoei_dataset *d); /* accepts a zeroed struct */
/* Sets *tokens to the total number of tokens in the n longest examples. A batch of n different examples has at most
 * this number of tokens. Errors: AOE_ENOMEM. */
int aoei_dataset_batch_tokens(const aoei_dataset *d, size_t n, size_t *tokens, aoe_error *err);
