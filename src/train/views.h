/* SPDX-License-Identifier: MIT
 * Views: transformed copies of the texts of a batch (ConSERT, Yan et al. 2021). A copy has shuffled positions, or a
 * part of its embedding output is set to zero. The random numbers depend only on the seed, the step, and the index of
 * the copy in the step. Therefore, they are equal for all chunk sizes and numbers of threads, and after resuming.
 */
#pragma once

#include <jansson.h>

#include "aoe_train.h"
#include "encoder/config.h"
#include "model/text_batch.h"

/* The cutoffs of the texts of a batch. A zeroed struct has no memory. It needs none if no view is applied. */
typedef struct aoei_views {
    uint64_t seed;        /* seed of the step, computed by aoei_views_begin_step */
    size_t columns;       /* number of columns in the embedding output */
    aoei_cutoff *cutoffs; /* [max_texts] cutoff of each text of the batch; owned */
    uint32_t *index;      /* [capacity] columns and tokens of all cutoffs; owned */
    size_t used;          /* number of elements of `index` that the texts of the batch use */
    size_t capacity;
    size_t *order; /* [max(columns, longest)] workspace; owned */
} aoei_views;

/* Returns 1 if the view changes nothing. */
int aoei_view_is_plain(const aoe_view *view);
/* Checks the kinds and rates of views[AOE_VIEWS]. Errors: AOE_EARG. */
int aoei_views_check(const aoe_view *views, aoe_error *err);
/* Checks that the encoder supports views[AOE_VIEWS]. name: name of the model in messages. Errors: AOE_EARG if the model
 * is not a transformer, or if a view shuffles positions and the model has neither position embeddings nor rotary
 * positions. */
int aoei_views_check_model(const aoe_view *views, const aoei_encoder_config *c, const char *name, aoe_error *err);
/* Allocates the memory for batches of at most max_texts texts and max_tokens tokens. longest: maximum number of tokens
 * in a text. Errors: AOE_ENOMEM. */
int aoei_views_create(aoei_views *v, const aoei_encoder_config *c, size_t max_texts, size_t max_tokens, size_t longest,
                      aoe_error *err);
void aoei_views_destroy(aoei_views *v); /* accepts a zeroed struct */
/* Sets the seed of the views of a step. seed: seed of the run. */
void aoei_views_begin_step(aoei_views *v, uint64_t seed, uint64_t step);
/* Transforms the text that was added to the batch last. After aoei_batch_clear, this function must be called for every
 * text of the batch, or for none. */
void aoei_views_apply(aoei_views *v, const aoe_view *view, aoei_batch_buffer *b);
