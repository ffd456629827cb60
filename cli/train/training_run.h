/* SPDX-License-Identifier: MIT
 * Runs training for `aoe train` and `aoe pretrain`. The functions print the progress, the evaluations and the final
 * result, and report interruption. Evaluations and the final result are printed to stdout, and messages to stderr.
 */
#pragma once

#include <aoe_train.h>

#include "cli/common/common.h"

enum { CLI_TRAINING_LOSSES = 12 }; /* number of the losses of aoe_objective_result */

typedef struct cli_training {
    const char *doing;   /* verb at the start of the progress line, for example "training" */
    const char *columns; /* headings of the columns with metrics, in the table of evaluations */
    void *own;           /* first argument of the functions below, borrowed */
    /* Prints notes about the run when it starts. */
    void (*describe)(const void *own, const aoe_train_event *e);
    /* Writes the fields that follow the loss and the learning rate in the progress line to out[size]. Each field is
     * preceded by two spaces. The losses of `e` are moving averages. */
    void (*format_step)(const aoe_train_event *e, char *out, size_t size);
    /* Writes the metrics of an evaluation to out[size]. They are aligned with the headings in `columns`. */
    void (*format_metrics)(const void *own, const aoe_train_event *e, char *out, size_t size);
    json_t *(*metrics)(const void *own, const aoe_train_event *e); /* returns the metrics of an evaluation as JSON */
    const char *metric; /* name of the metric of the final line, for example "dev Spearman" */
    void (*format_score)(char out[32], double score); /* writes a score as the value of this metric */
    const char *key;                                  /* JSON key of this metric, for example "dev_spearman" */
    double (*json_score)(double score);               /* returns the value of this metric in JSON */
    /* Runs the training with the context ctx. Returns an error code of the library. */
    int (*run)(void *own, aoe_context *ctx, aoe_error *err);

    int agreed;         /* 1: all ranks of the run have ended it with the same result */
    int json;           /* 1: events are printed as JSON */
    const char *output; /* output directory, borrowed */
    cli_progress progress;
    aoe_train_event last; /* the last event; its field `path` is not valid */
    int keeps_vectors;    /* 1: the teacher embeddings are stored in a cache */
    size_t embedded;      /* number of texts that the current teacher has embedded */
    size_t evaluations;   /* number of evaluations that were printed */
    double rate;          /* training speed in tokens per second, an exponential moving average over the steps */
    /* The printed losses are exponential moving averages over the training examples, not over the steps, so that the
     * last batch of an epoch, which can be small, has a small weight. */
    double average[CLI_TRAINING_LOSSES]; /* weighted sums of the losses */
    double weight;                       /* sum of the weights */
    size_t batch;                        /* number of examples in the largest step so far */
} cli_training;

/* Creates a context, runs t->run and prints the events of the training. args: training arguments; the function sets
 * their event callback. g: general options. Returns the exit code. */
int cli_training_run(cli_training *t, aoe_training_args *args, const cli_general *g);
