/* SPDX-License-Identifier: MIT
 * Reads the log of a training run (OUTPUT/train-log.jsonl), which contains the losses of each step and the scores of
 * evaluations. Each number in a step event is considered a loss, unless its key is one of the known keys that are not
 * losses. Therefore this code need not be changed for a new loss.
 */
#pragma once

#include <stddef.h>

enum { CLI_LOG_PARTS = 16 };

/* A step of a training run. */
typedef struct cli_log_step {
    double number;               /* number of the optimizer step */
    double examples;             /* number of examples in the step; 1 if the log does not contain it */
    double value[CLI_LOG_PARTS]; /* losses; NaN: the loss was not logged in this step */
} cli_log_step;

/* An evaluation during a training run. */
typedef struct cli_log_eval {
    double step, score;
} cli_log_eval;

/* The contents of the log of a training run. */
typedef struct cli_run_log {
    char *part[CLI_LOG_PARTS]; /* [parts] names of the losses, owned; the first name is "loss" (the total loss) */
    size_t parts;              /* number of losses */
    cli_log_step *step;        /* [n] steps in ascending order, owned */
    size_t n, capacity;        /* n: number of steps; capacity: number of steps for which memory is allocated */
    cli_log_eval *eval;        /* [evals] evaluations in the order of the log, owned */
    size_t evals;              /* number of evaluations */
    double batch;              /* largest number of examples in a step */
    double last;               /* number of the last step; 0: no steps */
    char metric[32]; /* name of the score, such as "spearman"; "": unknown, because an earlier version wrote the log */
    double epoch_steps; /* number of steps per epoch; NaN: unknown */
    int pretraining;    /* 1: the run is a pretraining run; its scores are negated losses */
} cli_run_log;

/* Reads the log file `path`. Returns 0, or 1 after reporting the error. The caller frees *log even after an error. */
int cli_run_log_read(cli_run_log *log, const char *path);
void cli_run_log_free(cli_run_log *log); /* accepts a zeroed struct */
/* Returns the index of a loss in log->part, or log->parts if there is no such loss. */
size_t cli_run_log_part(const cli_run_log *log, const char *name);
/* Returns the mean of a loss over the examples of the last `window` steps until log->step[i], or NaN if the loss was
 * logged in none of these steps. If these steps have fewer examples than a full batch, earlier steps are added, so that
 * the small last batch of an epoch does not look like learning. part: index of the loss. */
double cli_run_log_mean(const cli_run_log *log, size_t i, size_t part, double window);
