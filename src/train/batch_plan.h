/* SPDX-License-Identifier: MIT
 * Which examples make which batch of an epoch: a pure function of (seed, epoch) and the
 * sources. A batch is of one source. A source of weight w gives w times its examples an
 * epoch. Of alternatives one is drawn. Batches of a source whose texts are kept distinct
 * have none twice: an example that would bring one waits for the next batch, and when none is
 * left, is not in this epoch.
 */
#ifndef AOEI_TRAIN_BATCH_PLAN_H
#define AOEI_TRAIN_BATCH_PLAN_H

#include "train/training_set.h"

typedef struct aoei_source {
    aoei_dataset data;
    double weight; /* above 0 */
    int distinct;  /* 1: no text twice in a batch */
} aoei_source;

typedef struct aoei_planned_batch {
    uint32_t source;
    uint32_t n;   /* examples */
    size_t first; /* of them in the epoch's picks */
} aoei_planned_batch;

typedef struct aoei_batches {
    const aoei_source *sources; /* [n_sources], borrowed */
    size_t n_sources;
    size_t batch_size;
    uint64_t seed;
    size_t n;                  /* batches of an epoch */
    size_t examples;           /* of an epoch */
    size_t epoch;              /* the one planned; (size_t)-1: none */
    aoei_planned_batch *batch; /* owned [n] */
    uint32_t *example;         /* owned [examples] picks: an example of the batch's source */
    uint32_t (*text)[3];       /* owned [examples] the drawn text of each position */
    size_t left_out;           /* examples of the epoch planned that found no batch */
    /* work of planning */
    size_t *order;   /* owned [most examples of a source] */
    size_t *queue;   /* owned, likewise: those that wait */
    uint32_t *stamp; /* owned [most texts of a source] number of the last batch with a text of that class */
} aoei_batches;

/* Errors: AOE_EARG (more examples an epoch than 2^32), AOE_ENOMEM. */
int aoei_batches_create(aoei_batches *b, const aoei_source *sources, size_t n_sources, size_t batch_size, uint64_t seed,
                        aoe_error *err);
void aoei_batches_destroy(aoei_batches *b); /* accepts a zeroed one */
void aoei_batches_plan(aoei_batches *b, size_t epoch);

#endif
