/* SPDX-License-Identifier: MIT
 * Training runs for tests: a tiny model, a table of 22 pairs, a dev table, a run of
 * 12 steps with evaluations and checkpoints, and what it reported.
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
    char *dir, *model, *data, *output; /* owned; output does not exist at first */
    aoe_pairs *dev;                    /* owned */
    aoe_train_options o;
    aoe_train_data source; /* o.data */

    aoe_train_event events[TRAIN_EVENTS]; /* of all runs since `n` was last set to 0 */
    size_t n;
    size_t evaluations;          /* likewise */
    const double *scores;        /* what the evaluations give, by their number in the process; NULL: Spearman on dev */
    float probe[64][TRAIN_DIMS]; /* vector of a fixed text at each evaluation */

    int stop_kind;    /* aoe_train_event_kind to stop at; -1: never */
    size_t stop_step; /* at this step */
    int kill;         /* 1: SIGKILL to this process instead */
} train_run;

/* The model's shape: tiny_defaults() with pooler and prefix. Two epochs, batches of 4, checkpoints every 3 steps, evaluation
 * every 4, learning rate 1e-3, float32. */
void train_run_create(train_run *r);
void train_run_destroy(train_run *r);
/* aoe_train with a context of its own. */
int train_run_go(train_run *r, size_t threads, aoe_error *err);
/* It must succeed. */
void train_run_ok(train_run *r, size_t threads);
/* Another output directory, which does not exist. */
void train_run_output(train_run *r, const char *name);
/* OUTPUT/name as bytes, or NULL; free() it. */
char *train_run_read(const train_run *r, const char *name, size_t *size);
/* OUTPUT/model.safetensors and OUTPUT/aoe.json are the bytes of `weights` and of `settings`. */
void train_run_same(const train_run *r, const char *weights, size_t size, const char *settings);
/* Number of events of a kind. */
size_t train_run_count(const train_run *r, aoe_train_event_kind kind);

#endif
