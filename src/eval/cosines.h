/* SPDX-License-Identifier: MIT
 * Cosines of texts two by two, which every evaluation of pairs and triplets stands on.
 * A window of pairs at a time is embedded, each distinct text of it once. What the
 * cosines are compared with is the caller's business.
 */
#ifndef AOEI_EVAL_COSINES_H
#define AOEI_EVAL_COSINES_H

#include "aoe_data.h"
#include "eval/eval_model.h"

/* Two texts each, wherever they lie. */
typedef struct aoei_text_pairs {
    size_t n;
    const char *name;   /* of the file, for messages; borrowed */
    const void *source; /* first argument of the functions; borrowed */
    aoe_text (*text)(const void *source, size_t pair, size_t side);
    size_t (*line)(const void *source, size_t pair); /* in the file, from 1 */
    const char *(*role)(size_t pair, size_t side);   /* what messages call the text; static */
    int triplets; /* 1: the first text of an odd pair is that of the one before it, and counted once */
} aoei_text_pairs;

/* AOE_EFORMAT with file and line where a text would have no token. */
int aoei_text_pairs_check(const aoei_eval_model *e, const aoei_text_pairs *c, aoe_error *err);
/* cosine[c->n]; *truncated: texts that lost tokens to the maximum length, those in several pairs each time; p counts pairs and
 * may be NULL. Errors: those of the encoder, with file and line; AOE_ECANCELLED. */
int aoei_cosines(const aoei_eval_model *e, const aoei_text_pairs *c, double *cosine, size_t *truncated, aoei_eval_progress *p,
                 aoe_error *err);

/* The same of labelled pairs, and how many of their texts are empty. */
int aoei_pairs_check(const aoei_eval_model *e, const aoe_pairs *p, aoe_error *err);
int aoei_pairs_cosines(const aoei_eval_model *e, const aoe_pairs *p, double *cosine, size_t *truncated,
                       aoei_eval_progress *progress, aoe_error *err);
size_t aoei_pairs_empty(const aoe_pairs *p);

#endif
