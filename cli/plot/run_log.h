/* SPDX-License-Identifier: MIT
 * Reads the log of a training run, OUTPUT/train-log.jsonl: the losses of each step and the scores of evaluations. Each number
 * in a step event is read as a loss, unless its key is one of the known keys that are not losses. New losses therefore need no
 * change of this code.
 */
#ifndef AOE_CLI_PLOT_RUN_LOG_H
#define AOE_CLI_PLOT_RUN_LOG_H

#include <stddef.h>

enum { CLI_LOG_PARTS = 16 };

/* The contents of a log. */
typedef struct cli_run_log {
    char *part[CLI_LOG_PARTS];   /* [parts] names of the losses, "loss" (the total) first; owned */
    size_t parts;                /* number of losses */
    double *step;                /* [n] indices of the optimizer steps, ascending, owned */
    double *value;               /* [n, CLI_LOG_PARTS] losses of each step, owned; NaN: not logged in this step */
    size_t n, capacity;          /* number of steps, and number for which memory is allocated */
    double *eval_step, *score;   /* [evals] step and score of each evaluation, owned */
    size_t evals, eval_capacity; /* number of evaluations, and number for which memory is allocated */
    double epoch_steps;          /* steps per epoch; NaN: unknown */
    int pretraining;             /* 1: pretraining run, whose scores are negative losses */
} cli_run_log;

/* Reads the log `path` into *log. Returns 0, or 1 after reporting the error. The caller frees *log in both cases. */
int cli_run_log_read(cli_run_log *log, const char *path);
void cli_run_log_free(cli_run_log *log); /* accepts a zeroed log */
/* Returns the index of a loss in log->part, or log->parts if there is no such loss. */
size_t cli_run_log_part(const cli_run_log *log, const char *name);
/* Returns the mean of a loss over the steps in (step[i] - window, step[i]], or NaN if it was logged in none of them. */
double cli_run_log_mean(const cli_run_log *log, size_t i, size_t part, double window);

#endif
