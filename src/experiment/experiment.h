/* SPDX-License-Identifier: MIT
 * An experiment: runs a list of trials (trial.h), from the checks of all inputs to the records of the results. grid.c and
 * compare.c decide which trials are compared and compute statistics of their scores.
 *
 * Invariants: nothing is written before the inputs of all trials have been checked; a trial with a record is not run again; a
 * trial without a record resumes from its newest checkpoint.
 */
#ifndef AOEI_EXPERIMENT_EXPERIMENT_H
#define AOEI_EXPERIMENT_EXPERIMENT_H

#include "aoe_train.h"
#include "experiment/trial.h"

typedef struct aoei_experiment aoei_experiment;

/* Checks the options and creates the trials, ordered by configuration and then by seed. An untrained configuration has one
 * trial. kind: "grid" or "compare". by_file: as in aoei_trial. *o is borrowed. Errors: AOE_EARG, AOE_ENOMEM. */
int aoei_experiment_create(aoei_experiment **e, const char *kind, const aoe_experiment_options *o, int by_file, aoe_error *err);
void aoei_experiment_free(aoei_experiment *e); /* accepts NULL */

/* Checks all inputs, opens the directory, and runs the trials that have no record. Trials that fail are counted and reported
 * as events; the other trials continue. If an error occurs after the directory was opened, the records of the finished trials
 * are valid. Errors: AOE_ECANCELLED (stopped by the event callback), those of the inputs and of the directory. */
int aoei_experiment_run(aoei_experiment *e, aoe_error *err);

/* Returns 1 if the directory was opened and the existing records were read. */
int aoei_experiment_is_open(const aoei_experiment *e);
size_t aoei_experiment_runs(const aoei_experiment *e);     /* number of trials */
size_t aoei_experiment_finished(const aoei_experiment *e); /* number of trials with a record */
size_t aoei_experiment_failed(const aoei_experiment *e);   /* number of trials that failed in this call */
/* Returns the number of trials of a configuration: the number of seeds, or 1 for an untrained configuration. */
size_t aoei_experiment_seeds(const aoei_experiment *e, size_t configuration);
/* Returns the trial of a configuration for the seed o->seeds[s]; for an untrained configuration, its only trial. Borrowed. */
const aoei_trial *aoei_experiment_trial(const aoei_experiment *e, size_t configuration, size_t s);
/* Returns the trial with the highest score among those whose model is on disk; NULL if there is none. Borrowed. */
const aoei_trial *aoei_experiment_best(const aoei_experiment *e);

#endif
