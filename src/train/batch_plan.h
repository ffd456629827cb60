/* SPDX-License-Identifier: MIT
 * Plans the batches of an epoch. The plan depends only on the seed, the epoch and the sources (training files). All examples
 * of a batch come from one source. A source with n examples and weight w contributes w * n examples per epoch. If a text of an
 * example has alternatives, one of them is drawn at random. If a source is `distinct`, its batches contain no text twice: an
 * example with a text that the batch already contains is moved to a later batch. If no batch can take the example, it is not
 * used in this epoch.
 */
#ifndef AOEI_TRAIN_BATCH_PLAN_H
#define AOEI_TRAIN_BATCH_PLAN_H

#include "train/training_set.h"

/* A training file and how its examples are used. */
typedef struct aoei_source {
    aoei_dataset data; /* examples of the file; owned by the training task */
    double weight;     /* mean number of times that each example is used per epoch; above 0 */
    int distinct;      /* 1: no text occurs twice in a batch */
} aoei_source;

/* A batch of the planned epoch. */
typedef struct aoei_planned_batch {
    uint32_t source; /* index of the source in aoei_batches.sources */
    uint32_t n;      /* number of examples */
    size_t first;    /* index of the first example in aoei_batches.example and .text */
} aoei_planned_batch;

/* The plan of an epoch. */
typedef struct aoei_batches {
    const aoei_source *sources; /* [n_sources] training files; borrowed */
    size_t n_sources;           /* number of sources */
    size_t batch_size;          /* examples per batch; the last batches of a source may have fewer */
    uint64_t seed;              /* seed of all random choices */
    size_t n;                   /* number of batches per epoch */
    size_t examples;            /* number of examples per epoch */
    size_t epoch;               /* epoch that is currently planned, counted from 0; (size_t)-1: none */
    aoei_planned_batch *batch;  /* [n] batches of the epoch; owned */
    uint32_t *example;          /* [examples] index of each planned example in its source; owned */
    uint32_t (*text)[3];        /* [examples] index of the text drawn for each position of a planned example; owned */
    size_t unused;              /* number of examples that are in no batch of the epoch */
    /* workspace of aoei_batches_plan */
    size_t *order;   /* [largest number of examples of a source] examples of a source in random order; owned */
    size_t *queue;   /* [largest number of examples of a source] examples that are moved to a later batch; owned */
    uint32_t *stamp; /* [largest number of texts of a source] for each group of identical texts, number of the last batch of the
                        source that contains one of them, counted from 1; 0: none; owned */
} aoei_batches;

/* Allocates the plan. Errors: AOE_EARG (2^32 or more examples per epoch), AOE_ENOMEM. */
int aoei_batches_create(aoei_batches *b, const aoei_source *sources, size_t n_sources, size_t batch_size, uint64_t seed,
                        aoe_error *err);
void aoei_batches_destroy(aoei_batches *b); /* accepts a zeroed struct */
/* Plans the batches of an epoch, counted from 0. Does nothing if this epoch is already planned. */
void aoei_batches_plan(aoei_batches *b, size_t epoch);

#endif
