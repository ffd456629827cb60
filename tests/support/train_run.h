/* SPDX-License-Identifier: MIT
 * Training runs for tests. A training run has a tiny model, a table of 22 pairs, a dev table, and options for 12 steps with
 * evaluations and checkpoints. It records the events that training reports.
 */
#ifndef AOE_TESTS_TRAIN_RUN_H
#define AOE_TESTS_TRAIN_RUN_H

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"
#include "aoe_train.h"
#include "tiny_model.h"

enum { TRAIN_PAIRS = 22, TRAIN_EVENTS = 512, TRAIN_DIMS = 16 };

typedef struct train_run {
    char *dir, *model, *data, *output; /* owned paths; output does not exist at first */
    aoe_pairs *dev;                    /* owned */
    aoe_train_options o;
    aoe_train_data source; /* data source for o.data, which points to it */

    aoe_train_event events[TRAIN_EVENTS]; /* events of all runs since `n` was last set to 0 */
    size_t n;
    size_t evaluations; /* evaluations since the field was last set to 0 */
    /* scores that the evaluations return, indexed by `evaluations`; if NULL, an evaluation returns the Spearman correlation on
     * dev */
    const double *scores;
    float probe[64][TRAIN_DIMS]; /* vector of a fixed text at each evaluation */

    int stop_kind;    /* kind of event (aoe_train_event_kind) that stops the run; -1: none */
    size_t stop_step; /* step of the event that stops the run */
    int kill;         /* 1: at the event that would stop the run, the process kills itself with SIGKILL */
} train_run;

/* Prepares a run of tiny_defaults() with pooler and prefix: two epochs, batches of 4, checkpoints every 3 steps, evaluation
 * every 4 steps, learning rate 1e-3, float32. */
void train_run_create(train_run *r);
void train_run_destroy(train_run *r);
/* Calls aoe_train with a new context of this number of threads. Returns its error code. */
int train_run_go(train_run *r, size_t threads, aoe_error *err);
/* Calls train_run_go and fails the test on an error. */
void train_run_ok(train_run *r, size_t threads);
/* Selects another output directory, which does not exist yet. */
void train_run_output(train_run *r, const char *name);
/* Returns the contents of OUTPUT/name, or NULL; free() it. */
char *train_run_read(const train_run *r, const char *name, size_t *size);
/* Asserts that OUTPUT/model.safetensors and OUTPUT/aoe.json have the contents `weights` and `settings`. */
void train_run_assert_output(const train_run *r, const char *weights, size_t size, const char *settings);
/* Returns the number of events of a kind. */
size_t train_run_count(const train_run *r, aoe_train_event_kind kind);

#endif
