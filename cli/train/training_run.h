/* SPDX-License-Identifier: MIT
 * A training run of the program: prints progress, evaluations and the final result, and reports interruption. Evaluations and
 * the final result go to stdout, messages to stderr.
 */
#ifndef AOE_CLI_TRAIN_TRAINING_RUN_H
#define AOE_CLI_TRAIN_TRAINING_RUN_H

#include <aoe_train.h>

#include "cli/common/common.h"

typedef struct cli_training {
    const char *doing;   /* verb at the start of the progress line, for example "training" */
    const char *columns; /* headings of the columns with metrics in the table of evaluations */
    void *own;           /* first argument of the functions below, borrowed */
    /* Prints notes about the run when it starts. */
    void (*describe)(const void *own, const aoe_train_event *e);
    /* Writes the fields that follow loss and learning rate in the progress line, each after two spaces, to out[size]. */
    void (*format_step)(const aoe_train_event *e, char *out, size_t size);
    /* Writes the metrics of an evaluation, aligned with `columns`, to out[size]. */
    void (*format_metrics)(const void *own, const aoe_train_event *e, char *out, size_t size);
    json_t *(*metrics)(const void *own, const aoe_train_event *e); /* returns the metrics of an evaluation as JSON */
    /* Writes the best metric, for example "perplexity 12.50", to out[size]. */
    void (*format_best)(const aoe_train_event *e, char *out, size_t size);
    json_t *(*best)(const aoe_train_event *e); /* returns the best metric as JSON */
    /* Trains with ctx. Returns an error code of the library. */
    int (*run)(void *own, aoe_context *ctx, aoe_error *err);

    int json;           /* 1 prints events as JSON */
    const char *output; /* output directory, borrowed */
    cli_progress progress;
    aoe_train_event last; /* latest event; its path is not valid */
    size_t evaluations;   /* number of evaluations printed */
    double rate;          /* tokens per second, exponential moving average over steps */
} cli_training;

/* Runs t->run with a new context and shows its events. args: arguments of the run, whose event callback is set; g: general
 * options. Returns the exit code. */
int cli_training_run(cli_training *t, aoe_training_args *args, const cli_general *g);

#endif
