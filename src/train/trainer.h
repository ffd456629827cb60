/* SPDX-License-Identifier: MIT
 * The state of a training run. A task (aoei_task) defines the training data and the loss: pairs and triplets
 * (pair_task.c) or masked tokens (mlm_task.c). The order of the examples and the dropout masks depend only on the seed
 * and the step. Therefore, a resumed run needs only `progress`, the weights and the AdamW moments. With a time limit
 * (max_minutes), the learning rate and the number of steps also depend on the speed of the steps.
 */
#pragma once

#include <jansson.h>

#include "aoe_objective.h"
#include "aoe_train.h"
#include "encoder/encoder.h"
#include "encoder/params.h"
#include "model/model.h"
#include "modeldir/cross_encoder.h"
#include "train/output_dir.h"
#include "train/partitioned_step.h"
#include "train/train_log.h"

/* The key of the training record whose value is known only after aoei_task.prepare. */
#define AOEI_LATE_SETTING "teacher_fingerprint"

/* Progress of a training run. A checkpoint contains these values, in addition to the weights and the AdamW moments. */
typedef struct aoei_progress {
    uint64_t step;         /* number of completed optimizer steps */
    int has_best;          /* 1: best_score is set, because at least one evaluation was done */
    double best_score;     /* highest evaluation score so far, including the score of the start model */
    uint64_t best_step;    /* step of the evaluation that has the best score; 0: the start model */
    int has_start;         /* 1: start_score is set, because the start model was evaluated */
    double start_score;    /* evaluation score of the start model */
    int has_trained;       /* 1: trained_score is set, because at least one evaluation after a step was done */
    double trained_score;  /* highest evaluation score after a step, without the start model */
    uint64_t trained_step; /* step of the evaluation that has the score trained_score */
    uint64_t bad_evals;    /* number of evaluations after the evaluation at trained_step */
    uint64_t divisions;    /* number of evaluations that did not improve trained_score in the whole run, each of which
                              divides the learning rate by options.lr_divide */
    double seconds; /* training time in seconds up to the latest step or checkpoint; saved only if the run has a time
                       limit */
} aoei_progress;

typedef struct aoei_trainer aoei_trainer;

/* The result of a step or an evaluation, for progress reports and the log. */
typedef struct aoei_task_result {
    aoe_objective_result loss; /* mean losses over the batches of the step; for pretraining, only `total` is set */
    double accuracy;           /* fraction of masked tokens that are predicted correctly; NaN for other tasks */
    size_t tokens, examples;   /* number of tokens and number of examples that were encoded in the step */
} aoei_task_result;

/* A training task. The trainer first calls load, describe, prepare, describe again, and lay_out. After this, it calls
 * gradient for each step. */
typedef struct aoei_task {
    void *self;             /* private data of the task */
    size_t examples;        /* number of examples per epoch; set by load */
    size_t unused;          /* number of rows in the training files that are not examples; set by load */
    size_t steps_per_epoch; /* number of optimizer steps per epoch; set by load */
    double ibn_threshold;   /* threshold of positive pairs, which the start event reports; NaN if there is none; set by
                               load */
    aoei_params *params;    /* parameters to train; borrowed; set by lay_out */
    aoei_gradient_tree *tree; /* gradients of the shards; borrowed; set by lay_out */
    int (*load)(struct aoei_task *task, aoei_trainer *t, aoe_error *err); /* reads the data and checks it against
                                                                             t->base */
    /* Does the work of a run that takes long and that a check of its options and data does not need; NULL if there is
     * none. It may change only AOEI_LATE_SETTING in the record of `describe`. */
    int (*prepare)(struct aoei_task *task, aoei_trainer *t, aoe_error *err);
    int writes_cache; /* 1: `prepare` writes files that later runs read, so rank 0 runs it before the other ranks */
    /* Adds the task's options that affect the result to the record. Returns a nonzero value if out of memory. */
    int (*describe)(const struct aoei_task *task, json_t *record);
    /* Allocates the memory of a step and sets `params`. The values of the parameters are set later. */
    int (*lay_out)(struct aoei_task *task, aoei_trainer *t, aoe_error *err);
    /* Computes the mean gradient over the examples of a step, and adds it to the gradients of the parameters. step:
     * number of the step, counted from 0. drop: dropout, or NULL for none. */
    int (*gradient)(struct aoei_task *task, aoei_trainer *t, uint64_t step, const aoei_encoder_dropout *drop,
                    aoei_task_result *result, aoe_error *err);
    /* Computes the evaluation score of the current weights; a higher score is better. embedder: embedder with these
     * weights; NULL if `embeds` is 0. NULL if the run does not evaluate. */
    int (*evaluate)(struct aoei_task *task, aoei_trainer *t, aoe_embedder *embedder, double *score,
                    aoei_task_result *result, aoe_error *err);
    const char *metric;     /* name of the evaluation score in the log; NULL: unknown */
    const aoe_lora *lora;   /* adapters to train; NULL if the task does not support adapters */
    aoe_pooling words;      /* see aoei_open_mode */
    aoe_pooling pooling;    /* pooling that the defaults of the method set; AOE_POOLING_AUTO: none */
    int cross_encoder;      /* 1: the model is opened, trained and saved with its classification head */
    aoei_head_request head; /* cross_encoder: request of a classification head */
    size_t candidates; /* number of encoders of the parameters that may become the result, 1 or 2; set by lay_out */
    int embeds;        /* 1: the function `evaluate` uses an embedder */
    int mlm_head;      /* 1: the model is opened, trained and saved with its masked-LM head */
} aoei_task;

struct aoei_trainer {
    aoe_context *ctx;             /* context for computations and log messages; borrowed */
    const aoe_training_args *o;   /* checked options; borrowed, or `quiet` */
    aoe_training_args quiet;      /* the options without the event callback, for ranks that report no events */
    aoei_comm comm;               /* ranks of the run; owned */
    aoei_shards shards;           /* shards of the run, and those of this process */
    aoei_partitioned_step update; /* adds the gradients of the shards and updates the parameters; owned */
    aoei_task *task;              /* task that loads the training data and computes losses and gradients; borrowed */
    /* dropout probability of hidden states, and dropout probability of attention weights */
    double hidden_dropout, attention_dropout;
    int resumed;     /* 1: the run resumes from a checkpoint */
    aoe_model *base; /* checkpoint if the run resumes, otherwise the start model; owned */
    /* For each encoder that may become the result, a model with its weights, and with the settings and files of `base`,
     * and an embedder of this model, which evaluates it; the embedders are NULL if they are not needed; owned */
    aoe_model *view[AOEI_MAX_ENCODERS];
    aoe_embedder *embedder[AOEI_MAX_ENCODERS];
    int limits_logged;   /* 1: the features of the model that other programs do not support were logged */
    aoei_params *params; /* parameters to train; borrowed from the task */
    float *best; /* [params->count] best weights so far; NULL if the run does not evaluate; owned. If there is a second
                    encoder, the first half contains the better encoder */
    size_t steps_per_epoch; /* number of optimizer steps per epoch */
    size_t total_steps; /* number of steps of the run. With a time limit, this is an estimate that is updated after each
                           step */
    size_t warmup_steps;    /* number of warm-up steps; not used with a time limit */
    aoei_progress progress; /* progress of the run; part of every checkpoint */
    aoei_output_dir output; /* output directory, locked */
    aoei_train_log *log;    /* training log; owned */
    json_t *settings; /* options that affect the result; written to aoe.json, and compared when a run resumes; owned */
};

/* Returns 1 if this process writes the files of the run and reports its events: rank 0, or a process that trains
 * alone. */
static inline int aoei_trainer_writes(const aoei_trainer *t) {
    return aoei_comm_rank(&t->comm) == 0;
}
