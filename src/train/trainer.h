/* SPDX-License-Identifier: MIT
 * The trainer: steps, schedule, evaluation, checkpoints and the log of a run. What
 * is learned from is a task's business: labelled pairs (pair_task.c) or masked words
 * (mlm_task.c). The random state of a run is (seed, step): order and masks are pure
 * functions of them, so `progress` is all a resumed run needs beside the weights
 * and the moments. Of a run that goes by the clock (max_minutes) the learning rate and
 * the number of steps are not: they depend on how fast the steps are.
 */
#ifndef AOEI_TRAIN_TRAINER_H
#define AOEI_TRAIN_TRAINER_H

#include <jansson.h>

#include "aoe_train.h"
#include "encoder/encoder.h"
#include "encoder/params.h"
#include "model/model.h"
#include "train/output_dir.h"
#include "train/train_log.h"

/* What changes as the run goes on, and is saved. */
typedef struct aoei_progress {
    uint64_t step;     /* optimiser steps taken */
    int has_best;      /* an evaluation was made */
    double best_score; /* best dev score */
    uint64_t best_step;
    uint64_t bad_evals; /* evaluations since the best */
    double seconds;     /* taken up to the newest step or checkpoint; saved where the run goes by the clock */
} aoei_progress;

typedef struct aoei_trainer aoei_trainer;

/* What a step or an evaluation found, for progress and the log. */
typedef struct aoei_task_result {
    aoe_objective_result loss; /* mean over the step; `total` alone for masked words */
    double accuracy;           /* of masked words; NaN: none */
    size_t tokens, examples;   /* gone through the encoder */
} aoei_task_result;

/* What is learned from. The trainer calls load, describe and lay_out once, in this order, then gradient step after step. */
typedef struct aoei_task {
    void *self;                                                           /* the task's own, passed to every call */
    size_t examples;                                                      /* of an epoch; set by load */
    size_t steps_per_epoch;                                               /* set by load */
    double ibn_threshold;                                                 /* for the start event; NaN: none */
    aoei_params *params;                                                  /* borrowed; set by lay_out */
    int (*load)(struct aoei_task *task, aoei_trainer *t, aoe_error *err); /* reads the data and checks it against t->base */
    /* Adds what of the task decides the result; not 0: no memory. */
    int (*describe)(const struct aoei_task *task, json_t *record);
    int (*lay_out)(struct aoei_task *task, aoei_trainer *t, aoe_error *err); /* memory of a step; parameters are not set */
    /* Adds the gradient of step number `step` (from 0), the mean over its examples. drop NULL: none. */
    int (*gradient)(struct aoei_task *task, aoei_trainer *t, uint64_t step, const aoei_encoder_dropout *drop,
                    aoei_task_result *result, aoe_error *err);
    /* Scores the model as it is; higher is better. NULL: no evaluation. */
    int (*evaluate)(struct aoei_task *task, aoei_trainer *t, double *score, aoei_task_result *result, aoe_error *err);
    const aoe_lora *lora; /* adapters to train; NULL: there can be none */
    int embeds;           /* evaluate uses t->embedder */
    int mlm_head;         /* the model is opened, trained and saved with its masked-LM head */
} aoei_task;

struct aoei_trainer {
    aoe_context *ctx;           /* borrowed */
    const aoe_training_args *o; /* borrowed, checked */
    aoei_task *task;            /* borrowed */
    double hidden_dropout, attention_dropout;
    aoe_model *base;        /* owned; the start, or the checkpoint when resuming */
    aoe_model *view;        /* owned; base over the trained weights */
    aoe_embedder *embedder; /* owned; over view, for evaluation; NULL without one */
    aoei_params *params;    /* the task's */
    float *best;            /* owned; [params->count] the best weights so far; NULL without evaluation */
    size_t steps_per_epoch;
    size_t total_steps;  /* by the clock: an estimate after each step, exact once the time is over */
    size_t warmup_steps; /* by the clock: without meaning */
    aoei_progress progress;
    aoei_output_dir output;
    aoei_train_log *log; /* owned */
    json_t *settings;    /* owned; the options that decide the result, for the record and for resuming */
};

#endif
