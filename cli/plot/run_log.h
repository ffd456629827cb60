/* SPDX-License-Identifier: MIT
 * The log of a training run, OUTPUT/train-log.jsonl, read back: losses by
 * step and scores of evaluations. A loss is any number of a step that is not among
 * the known others, so that new objectives need nothing here.
 */
#ifndef AOE_CLI_PLOT_RUN_LOG_H
#define AOE_CLI_PLOT_RUN_LOG_H

#include <stddef.h>

enum { CLI_LOG_PARTS = 16 };

typedef struct cli_run_log {
    char *part[CLI_LOG_PARTS]; /* [parts] owned: names of the losses, "loss" (the total) first */
    size_t parts;
    double *step;  /* [n] owned, ascending */
    double *value; /* [n, CLI_LOG_PARTS] owned; NaN: not of that step */
    size_t n, capacity;
    double *eval_step, *score; /* [evals] owned */
    size_t evals, eval_capacity;
    double epoch_steps; /* steps of an epoch; NaN: not known */
    int pretraining;    /* masked words: scores are losses, negative */
} cli_run_log;

/* 0, or 1 after reporting the error; *log is to be freed either way. */
int cli_run_log_read(cli_run_log *log, const char *path);
void cli_run_log_free(cli_run_log *log); /* accepts a zeroed one */
/* The index of a loss, or log->parts. */
size_t cli_run_log_part(const cli_run_log *log, const char *name);
/* The mean of a loss over the steps (step[i] - window, step[i]]; NaN: it has none. */
double cli_run_log_mean(const cli_run_log *log, size_t i, size_t part, double window);

#endif
