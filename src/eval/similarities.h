/* SPDX-License-Identifier: MIT
 * Computes the similarities of text pairs. All metrics of pairs and triplets are computed from them. Pairs are
 * processed in blocks; each distinct text of a block is embedded once. If the model is a cross-encoder, its scores are
 * used instead.
 */
#pragma once

#include "aoe_data.h"
#include "eval/eval_model.h"

/* A list of text pairs. Its functions return the texts, line numbers and names of the pairs. */
typedef struct aoei_text_pairs {
    size_t n;           /* number of pairs */
    const char *name;   /* file name for messages; borrowed */
    const void *source; /* first argument of the functions; borrowed */
    /* Returns one text of a pair. side: 0 for the first text, 1 for the second text. */
    aoe_text (*text)(const void *source, size_t pair, size_t side);
    size_t (*line)(const void *source, size_t pair); /* returns the line number of a pair in the file */
    /* Returns the name of a text for messages, such as its column; a static string. */
    const char *(*side_name)(const void *source, size_t pair, size_t side);
    size_t group; /* number of consecutive pairs that have the same first text, which is counted once if it is
                     truncated; 1: all first texts are counted */
} aoei_text_pairs;

/* Checks that every text has at least one token. Errors: AOE_EFORMAT if a text has none; the message contains the file
 * and line. */
int aoei_text_pairs_check(const aoei_eval_model *e, const aoei_text_pairs *c, aoe_error *err);
/* Computes the similarity of each pair (e->similarity), or its score if the model is a cross-encoder.
 * - similarity: [c->n] receives the similarities or scores
 * - *truncated: receives the number of texts that were truncated to the maximum length; a text that occurs in several
 *   pairs is counted once for each pair, except as described at aoei_text_pairs.group. For a cross-encoder, it is the
 *   number of pairs
 * - p: progress, counted in pairs; may be NULL
 * Errors: the model's errors, with the file and line in the message; AOE_ECANCELLED. */
int aoei_similarities(const aoei_eval_model *e, const aoei_text_pairs *c, double *similarity, size_t *truncated,
                      aoei_eval_progress *p, aoe_error *err);

/* For labeled pairs, aoei_pairs_check calls aoei_text_pairs_check, and aoei_pairs_similarities calls aoei_similarities.
 */
int aoei_pairs_check(const aoei_eval_model *e, const aoe_pairs *p, aoe_error *err);
int aoei_pairs_similarities(const aoei_eval_model *e, const aoe_pairs *p, double *similarity, size_t *truncated,
                            aoei_eval_progress *progress, aoe_error *err);
/* Returns the number of empty texts in the pairs. */
size_t aoei_pairs_empty(const aoe_pairs *p);
