/* SPDX-License-Identifier: MIT
 * What evaluations have in common: texts to vectors, progress, and what an input is
 * called. Behind the public functions (aoe.h) the encoder is an embedder; tests put
 * their own.
 */
#ifndef AOEI_EVAL_EVAL_MODEL_H
#define AOEI_EVAL_EVAL_MODEL_H

#include <stddef.h>

#include "aoe.h"
#include "aoe_eval.h"

typedef struct aoei_eval_model {
    size_t dims;
    aoe_context *ctx; /* of searches; NULL where nothing is searched */
    /* vectors: [n, dims]; truncated: [n] 1 for a text that lost tokens to the maximum length. On failure *failed is the text it
     * was about, or (size_t)-1. */
    int (*embed)(void *user, const aoe_text *texts, size_t n, float *vectors, uint8_t *truncated, size_t *failed,
                 aoe_error *err);
    /* Number of tokens of a text, specials included. NULL: every text has tokens. */
    int (*count_tokens)(void *user, aoe_text text, size_t *n, aoe_error *err);
    void *user;
} aoei_eval_model;

/* An embedder as an encoder. */
typedef struct aoei_embedder_adapter {
    aoe_embedder *e;     /* borrowed */
    aoe_ids ids;         /* scratch of count_tokens */
    aoe_text_info *info; /* [capacity] owned; scratch of embed */
    size_t capacity;
} aoei_embedder_adapter;

/* *s lives as long as what is returned, and is to be freed with aoei_eval_model_close. */
aoei_eval_model aoei_eval_model_open(aoei_embedder_adapter *s, aoe_embedder *e);
void aoei_eval_model_close(aoei_embedder_adapter *s);

/* 1 in *any: an empty text has tokens, and so every text has some; 0: each is to be asked. */
int aoei_eval_model_has_specials(const aoei_eval_model *e, int *any, aoe_error *err);

/* How far an evaluation is. */
typedef struct aoei_eval_progress {
    aoe_eval_progress_fn fn; /* NULL: nobody asks */
    void *user;
    size_t done, total;
} aoei_eval_progress;

/* done += n, and tells. AOE_ECANCELLED when the caller wants no more. p may be NULL. */
int aoei_eval_advance(aoei_eval_progress *p, size_t n, aoe_error *err);

/* What results call the i-th of n inputs: the last part of its path, or where another has the same, the path.
 * aoei_free; NULL: no memory. */
char *aoei_input_name(const char *const *paths, size_t n, size_t i);

#endif
