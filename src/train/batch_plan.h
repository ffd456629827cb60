/* SPDX-License-Identifier: MIT
 * Plans the batches of an epoch. The plan is a pure function of (seed, epoch) and the sources. All
 * examples of a batch come from one source. A source with n examples and weight w contributes w * n
 * examples per epoch. If a text has alternatives, one of them is drawn. If a source is `distinct`,
 * its batches contain no text twice: an example with a text that the batch already contains is moved
 * to a later batch. If no batch can take the example, it is not used in this epoch.
 */
#ifndef AOEI_TRAIN_BATCH_PLAN_H
#define AOEI_TRAIN_BATCH_PLAN_H

#include "train/training_set.h"

typedef struct aoei_source {
    aoei_dataset data; /* owned by the task */
    double weight;     /* number of times each example is used per epoch; above 0 */
    int distinct;      /* 1: a batch contains no text twice */
} aoei_source;

typedef struct aoei_planned_batch {
    uint32_t source; /* index of the source */
    uint32_t n;      /* number of examples */
    size_t first;    /* index of the first example in aoei_batches.example and .text */
} aoei_planned_batch;

typedef struct aoei_batches {
    const aoei_source *sources; /* [n_sources], borrowed */
    size_t n_sources;
    size_t batch_size; /* examples per batch; the last batches of a source may have fewer */
    uint64_t seed;
    size_t n;                  /* batches per epoch */
    size_t examples;           /* examples per epoch */
    size_t epoch;              /* planned epoch; (size_t)-1: none */
    aoei_planned_batch *batch; /* [n], owned */
    uint32_t *example;         /* [examples], owned; index of each picked example in its source */
    uint32_t (*text)[3];       /* [examples], owned; index of the drawn text at each position of a picked example */
    size_t left_out;           /* examples of the planned epoch that are in no batch */
    /* workspace of the planning */
    size_t *order;   /* [most examples of a source], owned; examples in random order */
    size_t *queue;   /* [most examples of a source], owned; examples for a later batch */
    uint32_t *stamp; /* [most texts of a source], owned; number of the last batch with a text of each identity class */
} aoei_batches;

/* Allocates the plan. Errors: AOE_EARG (2^32 or more examples per epoch), AOE_ENOMEM. */
int aoei_batches_create(aoei_batches *b, const aoei_source *sources, size_t n_sources, size_t batch_size, uint64_t seed,
                        aoe_error *err);
void aoei_batches_destroy(aoei_batches *b); /* accepts a zeroed struct */
/* Plans an epoch, counted from 0, unless it is already planned. */
void aoei_batches_plan(aoei_batches *b, size_t epoch);

#endif
