/* SPDX-License-Identifier: MIT
 * Reads the log of a training run, OUTPUT/train-log.jsonl: the losses of each step and the scores of evaluations. Every
 * unknown number in a step event is a loss, so that new losses need no change here.
 */
#ifndef AOE_CLI_PLOT_RUN_LOG_H
#define AOE_CLI_PLOT_RUN_LOG_H

#include <stddef.h>

enum { CLI_LOG_PARTS = 16 };

typedef struct cli_run_log {
    char *part[CLI_LOG_PARTS]; /* [parts] names of the losses, "loss" (the total) first; owned */
    size_t parts;
    double *step;  /* [n] step numbers in ascending order, owned */
    double *value; /* [n, CLI_LOG_PARTS] losses, owned; NaN: the step has no such loss */
    size_t n, capacity;
    double *eval_step, *score; /* [evals] step and score of each evaluation, owned */
    size_t evals, eval_capacity;
    double epoch_steps; /* steps per epoch; NaN: unknown */
    int pretraining;    /* 1: pretraining run, whose scores are negative losses */
} cli_run_log;

/* Returns 0, or 1 after reporting the error. The caller frees *log in both cases. */
int cli_run_log_read(cli_run_log *log, const char *path);
void cli_run_log_free(cli_run_log *log); /* accepts a zeroed log */
/* The index of a loss in log->part; log->parts if there is no such loss. */
size_t cli_run_log_part(const cli_run_log *log, const char *name);
/* The mean of a loss over the steps in (step[i] - window, step[i]]; NaN if none of them has the loss. */
double cli_run_log_mean(const cli_run_log *log, size_t i, size_t part, double window);

#endif
