/* SPDX-License-Identifier: MIT
 * The batches of an epoch: a pure function of (seed, epoch) and the sources. All examples
 * of a batch come from one source. A source of weight w contributes w times its number of
 * examples per epoch. If a text has alternatives, one is drawn. A batch of a source with
 * `distinct` contains no text twice: an example that would repeat one is moved to a later
 * batch, and is left out of the epoch if no batch can take it.
 */
#ifndef AOEI_TRAIN_BATCH_PLAN_H
#define AOEI_TRAIN_BATCH_PLAN_H

#include "train/training_set.h"

typedef struct aoei_source {
    aoei_dataset data;
    double weight; /* above 0 */
    int distinct;  /* 1: a batch contains no text twice */
} aoei_source;

typedef struct aoei_planned_batch {
    uint32_t source;
    uint32_t n;   /* examples */
    size_t first; /* index of the first example in the picks of the epoch */
} aoei_planned_batch;

typedef struct aoei_batches {
    const aoei_source *sources; /* [n_sources], borrowed */
    size_t n_sources;
    size_t batch_size;
    uint64_t seed;
    size_t n;                  /* batches per epoch */
    size_t examples;           /* examples per epoch */
    size_t epoch;              /* planned epoch; (size_t)-1: none */
    aoei_planned_batch *batch; /* owned [n] */
    uint32_t *example;         /* owned [examples] picks: index of an example in the batch's source */
    uint32_t (*text)[3];       /* owned [examples] index of the drawn text at each position */
    size_t left_out;           /* examples of the planned epoch that no batch contains */
    /* workspace of the planning */
    size_t *order;   /* owned [most examples of a source] */
    size_t *queue;   /* owned [most examples of a source]: examples for a later batch */
    uint32_t *stamp; /* owned [most texts of a source] number of the last batch that contains a text of the class */
} aoei_batches;

/* Errors: AOE_EARG (more examples an epoch than 2^32), AOE_ENOMEM. */
int aoei_batches_create(aoei_batches *b, const aoei_source *sources, size_t n_sources, size_t batch_size, uint64_t seed,
                        aoe_error *err);
void aoei_batches_destroy(aoei_batches *b); /* accepts a zeroed struct */
void aoei_batches_plan(aoei_batches *b, size_t epoch);

#endif
