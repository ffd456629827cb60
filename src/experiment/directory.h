/* SPDX-License-Identifier: MIT
 * The directory of an experiment:
 *
 *   OUTPUT/experiment.json  settings that all runs share; later calls must use equal settings
 *   OUTPUT/results.jsonl    results of the finished trials, one object per line, in the order of the trials
 *   OUTPUT/runs/            one directory per trial (trial.h)
 */
#ifndef AOEI_EXPERIMENT_DIRECTORY_H
#define AOEI_EXPERIMENT_DIRECTORY_H

#include "aoe_train.h"
#include "base/lock.h"
#include "experiment/trial.h"

/* Creates the directory if necessary, locks it, and compares the settings that it contains with the settings of this call.
 * kind: "grid" or "compare". If another process holds the lock, calls waiting(user) and waits up to 10 s. Child processes
 * inherit the lock, so it is released only when the last of them has ended. Errors: AOE_EEXIST (the directory is in use, or
 * is not the directory of an experiment), AOE_EARG (other settings), AOE_EFORMAT, I/O. */
int aoei_directory_open(aoei_lock *lock, const char *kind, const aoe_experiment_options *o, void (*waiting)(void *user),
                        void *user, aoe_error *err);

/* Writes results.jsonl from the records of the finished trials among trial[n]. */
int aoei_directory_write_results(const aoe_experiment_options *o, const aoei_trial *trial, size_t n, aoe_error *err);

#endif
