/* SPDX-License-Identifier: MIT
 * Cosines of pairs of texts, the basis of every evaluation of pairs and triplets. Pairs are
 * processed in blocks; each distinct text of a block is embedded once.
 */
#ifndef AOEI_EVAL_COSINES_H
#define AOEI_EVAL_COSINES_H

#include "aoe_data.h"
#include "eval/eval_model.h"

/* A list of pairs of texts, read through functions. */
typedef struct aoei_text_pairs {
    size_t n;                                                       /* pairs */
    const char *name;                                               /* file name, for messages; borrowed */
    const void *source;                                             /* first argument of the functions; borrowed */
    aoe_text (*text)(const void *source, size_t pair, size_t side); /* side: 0 or 1 */
    size_t (*line)(const void *source, size_t pair);                /* line in the file, from 1 */
    const char *(*side_name)(size_t pair, size_t side);             /* name of the text in messages; static */
    int triplets; /* 1: pairs 2i and 2i + 1 have the same first text, which is counted once */
} aoei_text_pairs;

/* Checks that every text has a token. Errors: AOE_EFORMAT with file and line. */
int aoei_text_pairs_check(const aoei_eval_model *e, const aoei_text_pairs *c, aoe_error *err);
/* Writes the cosine of each pair to cosine[c->n]. *truncated: number of texts truncated to the maximum length, counted once per
 * pair. p counts pairs and may be NULL. Errors: errors of the model, with file and line; AOE_ECANCELLED. */
int aoei_cosines(const aoei_eval_model *e, const aoei_text_pairs *c, double *cosine, size_t *truncated, aoei_eval_progress *p,
                 aoe_error *err);

/* aoei_text_pairs_check and aoei_cosines for labelled pairs. */
int aoei_pairs_check(const aoei_eval_model *e, const aoe_pairs *p, aoe_error *err);
int aoei_pairs_cosines(const aoei_eval_model *e, const aoe_pairs *p, double *cosine, size_t *truncated,
                       aoei_eval_progress *progress, aoe_error *err);
/* Number of empty texts in the pairs. */
size_t aoei_pairs_empty(const aoe_pairs *p);

#endif
