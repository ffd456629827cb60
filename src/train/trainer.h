/* SPDX-License-Identifier: MIT
 * The trainer's state, shared by the loop (train.c), checkpoints (checkpoint.c)
 * and the log (train_log.c). The random state of a run is (seed, step): order
 * and masks are pure functions of them, so `progress` is all a resumed run needs
 * beside the weights and the moments.
 */
#ifndef AOEI_TRAIN_TRAINER_H
#define AOEI_TRAIN_TRAINER_H

#include <jansson.h>

#include "base/file.h"

#include "objective/pair_step.h"
#include "train/dataset.h"

/* What changes as the run goes on, and is saved. */
typedef struct aoei_progress {
    uint64_t step;     /* optimiser steps taken */
    int has_best;      /* an evaluation was made */
    double best_score; /* best dev score */
    uint64_t best_step;
    uint64_t bad_evals; /* evaluations since the best */
} aoei_progress;

typedef struct aoei_train_log aoei_train_log;

typedef struct aoei_trainer {
    aoe_context *ctx;                /* borrowed */
    const aoe_train_options *o;      /* borrowed, checked */
    aoe_objective_options objective; /* threshold resolved */
    double hidden_dropout, attention_dropout;
    aoe_model *base;        /* owned; the start, or the checkpoint when resuming */
    aoe_model *view;        /* owned; base over the trained weights */
    aoe_embedder *embedder; /* owned; over view, for evaluation; NULL without one */
    aoei_dataset data;
    aoei_pair_step step;
    float *best;        /* owned; [params.count] the best weights so far; NULL without evaluation */
    size_t *order;      /* owned; [n] permutation of the current epoch */
    size_t order_epoch; /* of `order`; (size_t)-1: none */
    size_t steps_per_epoch, total_steps, warmup_steps;
    aoei_progress progress;
    aoei_lock lock;      /* of the output directory */
    aoei_train_log *log; /* owned */
    json_t *settings;    /* owned; the options that decide the result, for the record and for resuming */
} aoei_trainer;

/* ---- checkpoint.c */

/* Writes OUTPUT/checkpoints/step-N (complete or not there at all) and removes those beyond o->keep_checkpoints.
 * *path (owned by the caller, aoei_free) names it. */
int aoei_checkpoint_write(aoei_trainer *t, char **path, aoe_error *err);
/* The newest complete checkpoint of an output directory: its path (aoei_free), or NULL when there is none. */
int aoei_checkpoint_find(char **path, const char *output, aoe_error *err);
/* Restores progress, moments and best weights (the weights come with t->base); refuses changed options. */
int aoei_checkpoint_read(aoei_trainer *t, const char *path, aoe_error *err);
char *aoei_checkpoints_dir(const char *output); /* aoei_free; NULL: no memory */
/* Removes from that directory what dead runs left half-written and every step-N but the `keep` newest. */
int aoei_checkpoints_prune(const char *dir, size_t keep, aoe_error *err);

/* ---- train_log.c: OUTPUT/train-log.jsonl, one JSON object an event */

/* Opens for writing; keeps the lines up to `step` of a log that is there when resuming from a step, else starts anew. */
int aoei_train_log_open(aoei_train_log **log, const char *output, int resume, uint64_t step, aoe_error *err);
int aoei_train_log_write(aoei_train_log *log, const aoe_train_event *e, aoe_error *err);
void aoei_train_log_close(aoei_train_log *log); /* NULL accepted */

#endif
