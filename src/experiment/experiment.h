/* SPDX-License-Identifier: MIT
 * Runs a list of trials (trial.h): checks all inputs, runs the trials, and collects their results. The result of a
 * finished trial is its record, the file record.json. grid.c and compare.c decide which trials are compared, and
 * compute statistics of their scores.
 * Invariants:
 * - Nothing is written before the inputs of all trials are checked.
 * - A trial that has a record is finished and is not run again.
 * - A trial without a record resumes from its newest checkpoint.
 */
#pragma once

#include "aoe_experiment.h"
#include "aoe_train.h"
#include "experiment/trial.h"

typedef struct aoei_experiment aoei_experiment;

/* Checks the options and creates the trials, ordered first by configuration and then by seed. An untrained
 * configuration has only one trial. kind: "grid" or "compare". by_file: value of aoei_trial.by_file for all trials. *o
 * is borrowed. Errors: AOE_EARG, AOE_ENOMEM. */
int aoei_experiment_create(aoei_experiment **e, const char *kind, const aoe_experiment_options *o, int by_file,
                           aoe_error *err);
void aoei_experiment_free(aoei_experiment *e); /* accepts NULL */

/* Checks all inputs, opens the directory, and runs the trials that have no record. A trial that fails is counted and
 * reported as an event; the other trials continue. If an error occurs after the directory was opened, the records of
 * the finished trials are valid. Errors: AOE_ECANCELLED if the event callback stops the experiment, and errors of the
 * inputs and of the directory. */
int aoei_experiment_run(aoei_experiment *e, aoe_error *err);

/* Returns 1 if the directory is open and the records of earlier calls were read. */
int aoei_experiment_is_open(const aoei_experiment *e);
size_t aoei_experiment_runs(const aoei_experiment *e);     /* number of trials */
size_t aoei_experiment_finished(const aoei_experiment *e); /* number of trials with a record */
size_t aoei_experiment_failed(const aoei_experiment *e);   /* number of trials that failed in this call */
/* Returns the number of trials of a configuration: the number of seeds, or 1 for an untrained configuration. */
size_t aoei_experiment_seeds(const aoei_experiment *e, size_t configuration);
/* Returns the trial of a configuration with the seed o->seeds[s]. For an untrained configuration, returns its only
 * trial. Borrowed. */
const aoei_trial *aoei_experiment_trial(const aoei_experiment *e, size_t configuration, size_t s);
/* Returns the trial with the highest score among the trials whose models are on disk, or NULL if there is none.
 * Borrowed. */
const aoei_trial *aoei_experiment_best(const aoei_experiment *e);
