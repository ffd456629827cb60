/* SPDX-License-Identifier: MIT
 * Plans the batches of an epoch. The plan depends only on the seed, the epoch and the sources (training files). All
 * examples of a batch come from one source. A source with n examples and weight w contributes w * n examples per epoch.
 * The positions of an example are its query, positive and negatives, or text1 and text2. If a position has alternative
 * texts, one of these texts is drawn at random. If a source is `distinct`, no text occurs twice in a batch: an example
 * that would repeat a text of the batch is moved to a later batch. If no batch can take the example, it is not used in
 * this epoch.
 */
#pragma once

#include "train/training_set.h"

/* A training file, and how often its examples are used. */
typedef struct aoei_source {
    aoei_dataset data; /* examples of the file; owned by the training task */
    double weight;     /* mean number of uses of each example per epoch; positive */
    int distinct;      /* 1: no text occurs twice in a batch */
} aoei_source;

/* A batch of an epoch. */
typedef struct aoei_planned_batch {
    uint32_t source; /* index of the source in aoei_batches.sources */
    uint32_t n;      /* number of examples */
    size_t first;    /* index in aoei_batches.example and aoei_batches.text of the batch's first example */
} aoei_planned_batch;

/* The plan of an epoch. */
typedef struct aoei_batches {
    const aoei_source *sources; /* [n_sources] training files; borrowed */
    size_t n_sources;           /* number of sources */
    size_t batch_size;          /* examples per batch; the last batches of a source may have fewer */
    uint64_t seed;              /* seed of all random choices */
    size_t n;                   /* number of batches per epoch */
    size_t examples;            /* number of examples per epoch */
    size_t epoch;               /* epoch that is currently planned, counted from 0; (size_t)-1 if no epoch is planned */
    aoei_planned_batch *batch;  /* [n] batches of the epoch; owned */
    uint32_t *example;          /* [examples] for each planned example, its index in its source; owned */
    /* [examples, width] for each planned example, the indices of the texts drawn for its positions; owned */
    uint32_t *text;
    size_t width;  /* largest number of positions of an example (aoei_dataset.arity) */
    size_t unused; /* number of examples that no batch of the epoch contains */
    /* Workspace of aoei_batches_plan. */
    size_t *order; /* [largest number of examples in a source] examples of a source in random order; owned */
    size_t *queue; /* [largest number of examples in a source] examples that are moved to a later batch; owned */
    /* [largest number of texts in a source] stamp[g] is the number, counted from 1, of the last planned batch of the
     * current source that contains a text of group g (aoei_dataset.groups). 0: there is no such batch. Owned. */
    uint32_t *stamp;
} aoei_batches;

/* Allocates the memory for a plan. Errors: AOE_EARG if an epoch has 2^32 or more examples, AOE_ENOMEM. */
int aoei_batches_create(aoei_batches *b, const aoei_source *sources, size_t n_sources, size_t batch_size, uint64_t seed,
                        aoe_error *err);
void aoei_batches_destroy(aoei_batches *b); /* accepts a zeroed struct */
/* Returns the indices of the texts drawn for the positions of a planned example. at: index in b->example. */
static inline const uint32_t *aoei_batches_texts(const aoei_batches *b, size_t at) {
    return b->text + at * b->width;
}
/* Plans the batches of an epoch; epochs are counted from 0. Does nothing if this epoch is already planned. */
void aoei_batches_plan(aoei_batches *b, size_t epoch);
