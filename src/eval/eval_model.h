/* SPDX-License-Identifier: MIT
 * Parts that all evaluations use: the interface of a model that computes embeddings, and progress reports. The public
 * functions evaluate an aoe_embedder; tests evaluate other models.
 */
#ifndef AOEI_EVAL_EVAL_MODEL_H
#define AOEI_EVAL_EVAL_MODEL_H

#include <stddef.h>

#include "aoe.h"
#include "aoe_eval.h"

/* A model that computes embeddings. */
typedef struct aoei_eval_model {
    size_t dims;      /* number of components of a vector */
    aoe_context *ctx; /* threads and kernels of the nearest-neighbor search; NULL if the evaluation does not search; borrowed */
    /* Writes the embeddings of n texts to vectors [n, dims], and to truncated [n] 1 for each text that was truncated to the
     * maximum length, otherwise 0. On failure, *failed is the index of the text that caused it, or (size_t)-1. */
    int (*embed)(void *user, const aoe_text *texts, size_t n, float *vectors, uint8_t *truncated, size_t *failed,
                 aoe_error *err);
    /* Sets *n to the number of tokens of a text, special tokens included. NULL if every text has tokens. */
    int (*count_tokens)(void *user, aoe_text text, size_t *n, aoe_error *err);
    void *user; /* first argument of both functions; borrowed */
} aoei_eval_model;

/* Memory of an aoei_eval_model that uses an embedder. */
typedef struct aoei_embedder_adapter {
    aoe_embedder *e;     /* embedder; borrowed */
    aoe_ids ids;         /* workspace of count_tokens; owned */
    aoe_text_info *info; /* [capacity] workspace of embed; owned */
    size_t capacity;     /* number of elements allocated for info */
} aoei_embedder_adapter;

/* Returns an evaluation model that uses e. It borrows s and e. Call aoei_eval_model_close after the last use of the model. */
aoei_eval_model aoei_eval_model_open(aoei_embedder_adapter *s, aoe_embedder *e);
void aoei_eval_model_close(aoei_embedder_adapter *s);

/* Sets *any to 1 if even the empty text has tokens, because the tokenizer adds special tokens; otherwise to 0. */
int aoei_eval_model_has_specials(const aoei_eval_model *e, int *any, aoe_error *err);

/* Progress of an evaluation. */
typedef struct aoei_eval_progress {
    aoe_eval_progress_fn fn; /* callback; NULL: no progress is reported */
    void *user;              /* first argument of fn */
    size_t done, total;      /* number of completed and of all units of work, which are pairs, texts or queries */
} aoei_eval_progress;

/* Adds n to p->done and calls the callback. p may be NULL. Errors: AOE_ECANCELLED (the callback returned non-zero). */
int aoei_eval_advance(aoei_eval_progress *p, size_t n, aoe_error *err);

#endif
