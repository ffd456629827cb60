/* SPDX-License-Identifier: MIT
 * Manages the directory of an experiment. The directory contains:
 *   OUTPUT/experiment.json  settings that all runs share; later calls must use equal settings
 *   OUTPUT/results.jsonl    results of the finished trials, one JSON object per line, in the order of the trials
 *   OUTPUT/runs/            one directory per trial (trial.h)
 *   OUTPUT/parts/           one directory per part of options.parts, with the lock of the process that runs it
 */
#pragma once

#include "aoe_experiment.h"
#include "aoe_train.h"
#include "base/lock.h"
#include "experiment/trial.h"

/* Creates and locks the directory of an experiment. With options.parts, only the part stays locked, so that other
 * processes can run other parts of the same division. If the directory already contains settings, they must be equal to
 * the current options. kind: "grid" or "compare". If another process holds the lock, the function calls waiting(user)
 * and waits up to 10 s. Child processes inherit the lock, so it is released when this process and all its children have
 * ended. Errors:
 * - AOE_EEXIST if another process uses the directory, or the directory does not belong to an experiment
 * - AOE_EARG if the settings differ
 * - AOE_EFORMAT, and errors of reading and writing files */
int aoei_directory_open(aoei_lock *lock, const char *kind, const aoe_experiment_options *o, void (*waiting)(void *user),
                        void *user, aoe_error *err);

/* Writes the records of the finished trials in trial[n] to results.jsonl. */
int aoei_directory_write_results(const aoe_experiment_options *o, const aoei_trial *trial, size_t n, aoe_error *err);
