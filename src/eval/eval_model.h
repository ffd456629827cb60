/* SPDX-License-Identifier: MIT
 * Common parts of all evaluations: the interface of a model that computes embeddings, progress
 * reports. The public functions pass an embedder; tests pass other models.
 */
#ifndef AOEI_EVAL_EVAL_MODEL_H
#define AOEI_EVAL_EVAL_MODEL_H

#include <stddef.h>

#include "aoe.h"
#include "aoe_eval.h"

typedef struct aoei_eval_model {
    size_t dims;      /* components of a vector */
    aoe_context *ctx; /* context of nearest-neighbour searches, borrowed; NULL if the evaluation does not search */
    /* Writes vectors [n, dims] and truncated [n], which is 1 for each text that was truncated to the maximum length. On
     * failure *failed is the index of the text that caused it, or (size_t)-1. */
    int (*embed)(void *user, const aoe_text *texts, size_t n, float *vectors, uint8_t *truncated, size_t *failed,
                 aoe_error *err);
    /* Sets *n to the number of tokens of a text, special tokens included. NULL: every text has tokens. */
    int (*count_tokens)(void *user, aoe_text text, size_t *n, aoe_error *err);
    void *user; /* first argument of the functions; borrowed */
} aoei_eval_model;

/* Adapts an embedder to aoei_eval_model. */
typedef struct aoei_embedder_adapter {
    aoe_embedder *e;     /* borrowed */
    aoe_ids ids;         /* workspace of count_tokens, owned */
    aoe_text_info *info; /* [capacity], owned; workspace of embed */
    size_t capacity;     /* texts that fit in info */
} aoei_embedder_adapter;

/* Returns an evaluation model that borrows s and e. Free *s with aoei_eval_model_close after the last use of the model. */
aoei_eval_model aoei_eval_model_open(aoei_embedder_adapter *s, aoe_embedder *e);
void aoei_eval_model_close(aoei_embedder_adapter *s);

/* Sets *any to 1 if the empty text has tokens (special tokens), so that every text has tokens; otherwise to 0. */
int aoei_eval_model_has_specials(const aoei_eval_model *e, int *any, aoe_error *err);

/* Progress of an evaluation. */
typedef struct aoei_eval_progress {
    aoe_eval_progress_fn fn; /* NULL: no progress is reported */
    void *user;              /* first argument of fn */
    size_t done, total;      /* units of work: pairs, texts or queries */
} aoei_eval_progress;

/* Adds n to p->done and reports it. p may be NULL. Errors: AOE_ECANCELLED (the callback returned non-zero). */
int aoei_eval_advance(aoei_eval_progress *p, size_t n, aoe_error *err);

#endif
