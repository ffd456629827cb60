/* SPDX-License-Identifier: MIT
 * Defines the model interface and the progress reports that all evaluations use. The public functions evaluate an
 * aoe_embedder; tests evaluate other models.
 */
#pragma once

#include <stddef.h>

#include "aoe_tokenizer.h"
#include "aoe_eval.h"

/* A model that computes embeddings or scores text pairs, and counts tokens. */
typedef struct aoei_eval_model {
    size_t dims;                        /* embedding size */
    aoe_similarity_function similarity; /* similarity of embeddings */
    aoe_context *ctx; /* context for the nearest-neighbor search; NULL if the evaluation needs no search; borrowed */
    /* Computes the embeddings of n texts. vectors: [n, dims] receives the embeddings. truncated: [n] receives 1 for
     * each text that was truncated to the maximum length, and 0 for other texts. On failure, *failed is set to the
     * index of the text that caused the error, or to (size_t)-1 if no single text did. */
    int (*embed)(void *user, const aoe_text *texts, size_t n, float *vectors, uint8_t *truncated, size_t *failed,
                 aoe_error *err);
    /* Sets *n to the number of tokens in a text, special tokens included. NULL if the model has no such function
     * because every text has tokens. */
    int (*count_tokens)(void *user, aoe_text text, size_t *n, aoe_error *err);
    /* Computes the scores of n text pairs with a cross-encoder; NULL for embedding models. scores: [n]; truncated: [n]
     * receives 1 for each pair that was truncated, and 0 for other pairs; *failed: as for `embed`, for pairs. */
    int (*score)(void *user, const aoe_text *first, const aoe_text *second, size_t n, double *scores,
                 uint8_t *truncated, size_t *failed, aoe_error *err);
    void *user; /* first argument of all functions; borrowed */
} aoei_eval_model;

/* Memory for an aoei_eval_model that uses an embedder. */
typedef struct aoei_embedder_adapter {
    aoe_embedder *e;     /* embedder; borrowed */
    aoe_ids ids;         /* workspace of count_tokens; owned */
    aoe_text_info *info; /* [capacity] workspace of embed and score; owned */
    float *outputs;      /* [capacity] workspace of score; owned */
    size_t capacity;     /* allocated elements of `info` and `outputs` */
} aoei_embedder_adapter;

/* Returns an evaluation model that uses the embedder e, with the cosine as similarity. The model borrows s and e. Call
 * aoei_eval_model_close after its last use. */
aoei_eval_model aoei_eval_model_open(aoei_embedder_adapter *s, aoe_embedder *e);
/* Sets the similarity. Errors: AOE_EARG if options.similarity has an unknown value, or if it has another value than the
 * cosine for a cross-encoder, which has no embeddings. */
int aoei_eval_model_set_similarity(aoei_eval_model *e, aoe_similarity_function similarity, aoe_error *err);
void aoei_eval_model_close(aoei_embedder_adapter *s);

/* Sets *any to 1 if the tokenizer adds special tokens, so that even the empty text has tokens. Sets *any to 0
 * otherwise. */
int aoei_eval_model_has_specials(const aoei_eval_model *e, int *any, aoe_error *err);

/* Progress of an evaluation. */
typedef struct aoei_eval_progress {
    aoe_eval_progress_fn fn; /* callback that receives the progress, or NULL */
    void *user;              /* first argument of `fn` */
    size_t done, total; /* number of completed units, and number of all units; a unit is a pair, a text or a query */
} aoei_eval_progress;

/* Adds n to p->done and calls the callback. p may be NULL. Errors: AOE_ECANCELLED if the callback returns a nonzero
 * value. */
int aoei_eval_advance(aoei_eval_progress *p, size_t n, aoe_error *err);
