/* SPDX-License-Identifier: MIT
 * A training run for tests. It has a tiny model, a table of 22 pairs, a dev table, and options for 12 steps with
 * evaluations and checkpoints. It records the events that aoe_train reports.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"
#include "aoe_train.h"
#include "tiny_model.h"

enum { TRAIN_PAIRS = 22, TRAIN_EVENTS = 512, TRAIN_DIMS = 16 };

typedef struct train_run {
    char *dir, *model, *data, *output; /* paths, owned; the output directory is created by training */
    aoe_pairs *dev;                    /* owned */
    aoe_train_options o;
    aoe_train_data source; /* the training data; o.data points to it */

    aoe_objective_result losses[TRAIN_EVENTS]; /* losses of the events */
    aoe_train_event events[TRAIN_EVENTS];      /* events that training reported since the test set n to 0 */
    size_t n;
    size_t evaluations; /* evaluations since the test set this field to 0 */
    /* Evaluation i returns scores[i]. NULL: an evaluation returns the Spearman correlation on dev. */
    const double *scores;
    double start_score;          /* score of the start model; NaN (the default): no score to beat */
    int starts;                  /* 1: the next evaluation is that of the start model */
    size_t start_evaluations;    /* evaluations of the start model, which `evaluations` does not count */
    float probe[64][TRAIN_DIMS]; /* embedding of a fixed text at each evaluation */

    int stop_kind;    /* kind (aoe_train_event_kind) of the event that stops the run; -1: no event */
    size_t stop_step; /* step of the event that stops the run */
    int kill;         /* 1: instead of stopping the run, this event makes the process kill itself with SIGKILL */
} train_run;

/* Prepares a run. The model is tiny_defaults() with a pooler and a prefix. The options are two epochs, batches of 4
 * pairs, a checkpoint every 3 steps, an evaluation every 4 steps, a learning rate of 1e-3, and float32. */
void train_run_create(train_run *r);
void train_run_destroy(train_run *r);
/* Calls aoe_train with a new context that has the given number of threads. Returns the error code of aoe_train. */
int train_run_go(train_run *r, size_t threads, aoe_error *err);
/* Calls train_run_go and fails the test on an error. */
void train_run_ok(train_run *r, size_t threads);
/* Changes the output directory to the new directory `name`. */
void train_run_output(train_run *r, const char *name);
/* Returns the contents of the file `name` in the output directory, or NULL if it does not exist. The caller frees
 * them. */
char *train_run_read(const train_run *r, const char *name, size_t *size);
/* Asserts that, in the output directory, model.safetensors has the contents weights[size] and aoe.json has the contents
 * `settings`. */
void train_run_assert_output(const train_run *r, const char *weights, size_t size, const char *settings);
/* Replaces the training data by 18 triplets of distinct texts. */
void train_run_use_triplets(train_run *r);
/* Returns the number of recorded events of a kind. */
size_t train_run_count(const train_run *r, aoe_train_event_kind kind);
/* Trains three steps without a dev set, and asserts that their losses are want[3]. Instruction sets round sums
 * differently, which changes a loss by less than the tolerance. */
void train_run_trace(train_run *r, const double want[3]);
