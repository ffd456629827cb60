/* SPDX-License-Identifier: MIT
 * The state of a training run. A task defines what the run trains on: pairs and triplets (pair_task.c) or masked tokens
 * (mlm_task.c). The order of the examples and the dropout masks depend only on the seed and the step, so a resumed run needs
 * only `progress`, the weights and the AdamW moments. With a time limit (max_minutes), the learning rate and the number of
 * steps also depend on the speed of the steps.
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

/* The part of the state that changes from step to step and is saved in checkpoints, except the weights and moments. */
typedef struct aoei_progress {
    uint64_t step;      /* number of optimizer steps completed */
    int has_best;       /* 1: an evaluation has set best_score */
    double best_score;  /* highest score of an evaluation so far */
    uint64_t best_step; /* step of the evaluation with the best score */
    uint64_t bad_evals; /* number of evaluations since the one with the best score */
    double seconds; /* training time in seconds until the latest step or checkpoint; saved only for runs with a time limit */
} aoei_progress;

typedef struct aoei_trainer aoei_trainer;

/* The result of a step or an evaluation, for progress reports and the log. */
typedef struct aoei_task_result {
    aoe_objective_result loss; /* mean losses over the batches of the step; pretraining sets only `total` */
    double accuracy;           /* fraction of the masked tokens that are predicted correctly; NaN: not defined */
    size_t tokens, examples;   /* number of tokens and number of examples encoded in this step */
} aoei_task_result;

/* A training task. The trainer calls load, describe and lay_out once, in this order, then gradient for each step. */
typedef struct aoei_task {
    void *self;             /* private data of the task */
    size_t examples;        /* number of examples per epoch; set by load */
    size_t steps_per_epoch; /* number of optimizer steps per epoch; set by load */
    double ibn_threshold;   /* threshold of positive pairs that the start event reports; NaN: none; set by load */
    aoei_params *params;    /* parameters to train; borrowed; set by lay_out */
    int (*load)(struct aoei_task *task, aoei_trainer *t, aoe_error *err); /* reads the data and checks it against t->base */
    /* Adds the options of the task that affect the result to the record. Returns non-zero if memory runs out. */
    int (*describe)(const struct aoei_task *task, json_t *record);
    /* Allocates the memory of a step and sets `params`. Does not set the values of the parameters. */
    int (*lay_out)(struct aoei_task *task, aoei_trainer *t, aoe_error *err);
    /* Adds the mean gradient over the examples of a step to the gradients of the parameters. step counts from 0. If drop is
     * NULL, there is no dropout. */
    int (*gradient)(struct aoei_task *task, aoei_trainer *t, uint64_t step, const aoei_encoder_dropout *drop,
                    aoei_task_result *result, aoe_error *err);
    /* Computes the evaluation score of the current weights; higher is better. NULL: the run does not evaluate. */
    int (*evaluate)(struct aoei_task *task, aoei_trainer *t, double *score, aoei_task_result *result, aoe_error *err);
    const aoe_lora *lora; /* adapters to train; NULL: the task does not support adapters */
    int embeds;           /* 1: evaluate uses t->embedder */
    int mlm_head;         /* 1: the model is opened, trained and saved with its masked-LM head */
} aoei_task;

struct aoei_trainer {
    aoe_context *ctx;                         /* threads, kernels and log; borrowed */
    const aoe_training_args *o;               /* options, already checked; borrowed */
    aoei_task *task;                          /* loads the training data and computes losses and gradients; borrowed */
    double hidden_dropout, attention_dropout; /* dropout probabilities of hidden states and attention weights */
    aoe_model *base;                          /* initial model, or the checkpoint if the run resumes; owned */
    aoe_model *view;                          /* model with the settings and files of `base` and the trained weights; owned */
    aoe_embedder *embedder;                   /* embedder of `view` for evaluation; NULL: not needed; owned */
    aoei_params *params;                      /* parameters to train; borrowed from the task */
    float *best;            /* [params->count] best weights so far; NULL if the run does not evaluate; owned */
    size_t steps_per_epoch; /* optimizer steps per epoch */
    size_t total_steps;     /* number of steps of the run; with a time limit, an estimate that is updated after each step */
    size_t warmup_steps;    /* number of warm-up steps; not used with a time limit */
    aoei_progress progress; /* state that checkpoints save */
    aoei_output_dir output; /* locked output directory */
    aoei_train_log *log;    /* training log; owned */
    json_t *settings;       /* options that affect the result, for aoe.json and for resuming; owned */
};

#endif
