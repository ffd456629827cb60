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
    uint64_t step;      /* optimizer steps taken */
    int has_best;       /* 1: an evaluation has set best_score */
    double best_score;  /* best dev score */
    uint64_t best_step; /* step of the best dev score */
    uint64_t bad_evals; /* evaluations since the best one */
    double seconds;     /* training time until the latest step or checkpoint; saved only for runs with a time limit */
} aoei_progress;

typedef struct aoei_trainer aoei_trainer;

/* The result of a step or an evaluation, for progress and the log. */
typedef struct aoei_task_result {
    aoe_objective_result loss; /* mean over the step; pretraining sets only `total` */
    double accuracy;           /* accuracy of the predictions of masked tokens; NaN: not defined */
    size_t tokens, examples;   /* tokens and examples encoded in this step */
} aoei_task_result;

/* A training task. The trainer calls load, describe and lay_out once, in this order, then gradient for each step. */
typedef struct aoei_task {
    void *self;                                                           /* private data of the task */
    size_t examples;                                                      /* examples per epoch; set by load */
    size_t steps_per_epoch;                                               /* set by load */
    double ibn_threshold;                                                 /* reported in the start event; NaN: none */
    aoei_params *params;                                                  /* borrowed; set by lay_out */
    int (*load)(struct aoei_task *task, aoei_trainer *t, aoe_error *err); /* reads the data and checks them against t->base */
    /* Adds the options that affect the result to the record. Returns non-zero if memory runs out. */
    int (*describe)(const struct aoei_task *task, json_t *record);
    int (*lay_out)(struct aoei_task *task, aoei_trainer *t,
                   aoe_error *err); /* allocates the memory of a step; does not set the parameters */
    /* Adds the mean gradient over the examples of step number `step`, counted from 0. drop NULL: no dropout. */
    int (*gradient)(struct aoei_task *task, aoei_trainer *t, uint64_t step, const aoei_encoder_dropout *drop,
                    aoei_task_result *result, aoe_error *err);
    /* Computes the dev score of the current model; higher is better. NULL: no evaluation. */
    int (*evaluate)(struct aoei_task *task, aoei_trainer *t, double *score, aoei_task_result *result, aoe_error *err);
    const aoe_lora *lora; /* adapters to train; NULL: the task does not support adapters */
    int embeds;           /* 1: evaluate uses t->embedder */
    int mlm_head;         /* 1: the model is opened, trained and saved with its masked-LM head */
} aoei_task;

struct aoei_trainer {
    aoe_context *ctx;           /* borrowed */
    const aoe_training_args *o; /* borrowed, checked */
    aoei_task *task;            /* borrowed */
    double hidden_dropout, attention_dropout;
    aoe_model *base;        /* owned; the initial model, or the checkpoint if the run resumes */
    aoe_model *view;        /* owned; base with the trained weights */
    aoe_embedder *embedder; /* owned; embedder of view for evaluation; NULL: not needed */
    aoei_params *params;    /* borrowed from the task */
    float *best;            /* [params->count], owned; the best weights so far; NULL without evaluation */
    size_t steps_per_epoch;
    size_t total_steps;  /* steps of the run; with a time limit, an estimate that is updated after each step */
    size_t warmup_steps; /* not used with a time limit */
    aoei_progress progress;
    aoei_output_dir output;
    aoei_train_log *log; /* owned */
    json_t *settings;    /* owned; the options that affect the result, for aoe.json and for resuming */
};

#endif
