/* SPDX-License-Identifier: MIT
 * An experiment: its trials, from the check of all inputs to the records. Which trials are compared, and what their scores
 * mean, is decided by grid.c and compare.c.
 *
 * Invariants: nothing is written before the inputs of every trial were checked; a trial with a record is not run again; a
 * trial without a record resumes from its newest checkpoint.
 */
#ifndef AOEI_EXPERIMENT_EXPERIMENT_H
#define AOEI_EXPERIMENT_EXPERIMENT_H

#include "aoe_train.h"
#include "experiment/trial.h"

typedef struct aoei_experiment aoei_experiment;

/* Checks the options and creates the trials: all seeds of the first configuration, then of the next; an untrained
 * configuration has one trial. kind: "grid" or "compare". by_file: as in aoei_trial. *o is borrowed.
 * Errors: AOE_EARG, AOE_ENOMEM. */
int aoei_experiment_create(aoei_experiment **e, const char *kind, const aoe_experiment_options *o, int by_file, aoe_error *err);
void aoei_experiment_free(aoei_experiment *e); /* NULL accepted */

/* Checks all inputs, opens the directory, and runs the trials that have no record. Trials that fail are counted and
 * reported as events; the other trials continue. On an error after the directory was opened the finished trials are valid.
 * Errors: AOE_ECANCELLED (stopped by the event callback), those of the inputs and of the directory. */
int aoei_experiment_run(aoei_experiment *e, aoe_error *err);

/* 1: the directory was opened, and the trials have the records that are there. */
int aoei_experiment_is_open(const aoei_experiment *e);
size_t aoei_experiment_runs(const aoei_experiment *e);     /* trials */
size_t aoei_experiment_finished(const aoei_experiment *e); /* of these, with a record */
size_t aoei_experiment_failed(const aoei_experiment *e);
/* Trials of a configuration: the number of seeds, or 1. */
size_t aoei_experiment_seeds(const aoei_experiment *e, size_t configuration);
/* The trial of a configuration and seed number s; the only trial of an untrained configuration. Borrowed. */
const aoei_trial *aoei_experiment_trial(const aoei_experiment *e, size_t configuration, size_t s);
/* The trial with the highest score whose model is kept; NULL: there is none. Borrowed. */
const aoei_trial *aoei_experiment_best(const aoei_experiment *e);

/* Defaults of aoe_experiment_options: 1 job, all CPUs, the free memory. */
void aoei_experiment_options_defaults(aoe_experiment_options *o);

#endif
