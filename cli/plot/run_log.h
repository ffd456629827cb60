/* SPDX-License-Identifier: MIT
 * Reads the log of a training run (OUTPUT/train-log.jsonl), which contains the losses of each step and the scores of
 * evaluations. Each number in a step event is considered a loss, unless its key is one of the known keys that are not
 * losses. Therefore this code need not be changed for a new loss.
 */
#ifndef AOE_CLI_PLOT_RUN_LOG_H
#define AOE_CLI_PLOT_RUN_LOG_H

#include <stddef.h>

enum { CLI_LOG_PARTS = 16 };

/* The contents of the log of a training run. */
typedef struct cli_run_log {
    char *part[CLI_LOG_PARTS]; /* [parts] names of the losses, owned; the first name is "loss" (the total loss) */
    size_t parts;              /* number of losses */
    double *step;              /* [n] numbers of the optimizer steps in ascending order, owned */
    double *value;      /* [n, CLI_LOG_PARTS] losses of each step, owned; NaN: the loss was not logged in this step */
    double *examples;   /* [n] number of examples of each step, owned; 1 if the log does not contain it */
    double batch;       /* largest number of examples of a step */
    size_t n, capacity; /* n: number of steps; capacity: number of steps for which memory is allocated */
    double *eval_step, *score; /* [evals] eval_step: step of each evaluation; score: its score; owned */
    /* evals: number of evaluations; eval_capacity: number of evaluations for which memory is allocated */
    size_t evals, eval_capacity;
    char metric[32]; /* name of the score, such as "spearman"; "": unknown, because an earlier version wrote the log */
    double epoch_steps; /* number of steps per epoch; NaN: unknown */
    int pretraining;    /* 1: the run is a pretraining run; its scores are negated losses */
} cli_run_log;

/* Reads the log file `path`. Returns 0, or 1 after reporting the error. The caller frees *log even after an error. */
int cli_run_log_read(cli_run_log *log, const char *path);
void cli_run_log_free(cli_run_log *log); /* accepts a zeroed struct */
/* Returns the index of a loss in log->part, or log->parts if there is no such loss. */
size_t cli_run_log_part(const cli_run_log *log, const char *name);
/* Returns the mean of a loss over the examples of the steps in (log->step[i] - window, log->step[i]], or NaN if the
 * loss was logged in none of these steps. If these steps have fewer examples than a full batch, earlier steps are
 * added, so that the small last batch of an epoch does not look like learning. part: index of the loss. */
double cli_run_log_mean(const cli_run_log *log, size_t i, size_t part, double window);

#endif
