/* SPDX-License-Identifier: MIT
 * Cosines of text pairs, from which all metrics of pairs and triplets are computed. Pairs are processed in blocks; each
 * distinct text of a block is embedded once.
 */
#ifndef AOEI_EVAL_COSINES_H
#define AOEI_EVAL_COSINES_H

#include "aoe_data.h"
#include "eval/eval_model.h"

/* A list of text pairs, which is read through functions. */
typedef struct aoei_text_pairs {
    size_t n;           /* number of pairs */
    const char *name;   /* name of the file, for messages; borrowed */
    const void *source; /* first argument of the functions; borrowed */
    /* Returns a text of a pair. side: 0 or 1. */
    aoe_text (*text)(const void *source, size_t pair, size_t side);
    size_t (*line)(const void *source, size_t pair);    /* returns the line number of a pair in the file */
    const char *(*side_name)(size_t pair, size_t side); /* returns the name of a text for messages; a static string */
    int triplets; /* 1: pairs 2i and 2i + 1 have the same first text, which counts once if it is truncated */
} aoei_text_pairs;

/* Checks that every text has at least one token. Errors: AOE_EFORMAT with file and line. */
int aoei_text_pairs_check(const aoei_eval_model *e, const aoei_text_pairs *c, aoe_error *err);
/* Writes the cosine of each pair to cosine[c->n]. Sets *truncated to the number of texts that were truncated to the maximum
 * length; a text that occurs in several pairs counts once per pair. p: progress, counted in pairs; may be NULL. Errors: those
 * of the model, with file and line; AOE_ECANCELLED. */
int aoei_cosines(const aoei_eval_model *e, const aoei_text_pairs *c, double *cosine, size_t *truncated, aoei_eval_progress *p,
                 aoe_error *err);

/* Apply aoei_text_pairs_check and aoei_cosines to labeled pairs. */
int aoei_pairs_check(const aoei_eval_model *e, const aoe_pairs *p, aoe_error *err);
int aoei_pairs_cosines(const aoei_eval_model *e, const aoe_pairs *p, double *cosine, size_t *truncated,
                       aoei_eval_progress *progress, aoe_error *err);
/* Returns the number of empty texts in the pairs. */
size_t aoei_pairs_empty(const aoe_pairs *p);

#endif
