/* SPDX-License-Identifier: MIT
 * The state of a training run. A task defines what the run trains on: pairs and triplets
 * (pair_task.c) or masked tokens (mlm_task.c). The order of the examples and the dropout
 * masks are pure functions of (seed, step), so a resumed run needs only `progress`, the
 * weights and the AdamW moments. With a time limit (max_minutes), the learning rate and the
 * number of steps also depend on the speed of the steps.
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

/* The part of the state that changes and is saved in checkpoints. */
typedef struct aoei_progress {
    uint64_t step;     /* optimiser steps taken */
    int has_best;      /* 1: an evaluation has set best_score */
    double best_score; /* best dev score */
    uint64_t best_step;
    uint64_t bad_evals; /* evaluations since the best one */
    double seconds;     /* training time until the newest step or checkpoint; saved for runs with a time limit */
} aoei_progress;

typedef struct aoei_trainer aoei_trainer;

/* The result of a step or an evaluation, for progress and the log. */
typedef struct aoei_task_result {
    aoe_objective_result loss; /* mean over the step; masked tokens: only `total` is set */
    double accuracy;           /* of masked tokens; NaN: not defined */
    size_t tokens, examples;   /* encoded in this step */
} aoei_task_result;

/* A training task. The trainer calls load, describe and lay_out once, in this order, then gradient for each step. */
typedef struct aoei_task {
    void *self;                                                           /* the task's own data, passed to every call */
    size_t examples;                                                      /* examples per epoch; set by load */
    size_t steps_per_epoch;                                               /* set by load */
    double ibn_threshold;                                                 /* for the start event; NaN: none */
    aoei_params *params;                                                  /* borrowed; set by lay_out */
    int (*load)(struct aoei_task *task, aoei_trainer *t, aoe_error *err); /* reads the data and checks them against t->base */
    /* Adds the options that decide the result; not 0: out of memory. */
    int (*describe)(const struct aoei_task *task, json_t *record);
    int (*lay_out)(struct aoei_task *task, aoei_trainer *t,
                   aoe_error *err); /* allocates the memory of a step; parameters are not set */
    /* Adds the gradient of step number `step` (from 0), the mean over its examples. drop NULL: none. */
    int (*gradient)(struct aoei_task *task, aoei_trainer *t, uint64_t step, const aoei_encoder_dropout *drop,
                    aoei_task_result *result, aoe_error *err);
    /* Scores the current model; higher is better. NULL: no evaluation. */
    int (*evaluate)(struct aoei_task *task, aoei_trainer *t, double *score, aoei_task_result *result, aoe_error *err);
    const aoe_lora *lora; /* adapters to train; NULL: the task does not support adapters */
    int embeds;           /* evaluate uses t->embedder */
    int mlm_head;         /* the model is opened, trained and saved with its masked-LM head */
} aoei_task;

struct aoei_trainer {
    aoe_context *ctx;           /* borrowed */
    const aoe_training_args *o; /* borrowed, checked */
    aoei_task *task;            /* borrowed */
    double hidden_dropout, attention_dropout;
    aoe_model *base;        /* owned; the initial model, or the checkpoint if the run resumes */
    aoe_model *view;        /* owned; base with the trained weights */
    aoe_embedder *embedder; /* owned; of view, for evaluation; NULL: no evaluation */
    aoei_params *params;    /* the task's */
    float *best;            /* owned; [params->count] the best weights so far; NULL without evaluation */
    size_t steps_per_epoch;
    size_t total_steps;  /* with a time limit: an estimate after each step, exact at the end */
    size_t warmup_steps; /* not used with a time limit */
    aoei_progress progress;
    aoei_output_dir output;
    aoei_train_log *log; /* owned */
    json_t *settings;    /* owned; the options that decide the result, for aoe.json and for resuming */
};

#endif
