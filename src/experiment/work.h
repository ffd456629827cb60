/* SPDX-License-Identifier: MIT
 * The work that a child process does for a trial: it trains the model, evaluates the model, and writes the record of the trial.
 */
#ifndef AOEI_EXPERIMENT_WORK_H
#define AOEI_EXPERIMENT_WORK_H

#include "aoe_train.h"
#include "experiment/process.h"
#include "experiment/trial.h"

/* Runs a trial and writes its record. Training resumes from the newest checkpoint of the trial if there is one; a model
 * without a checkpoint is replaced. Errors: AOE_ECANCELLED (the trial was stopped; a checkpoint was written), those of
 * aoe_train and aoe_eval_sts. */
int aoei_trial_work(const aoe_experiment_options *o, const aoei_trial *t, size_t threads, aoei_child *child, aoe_error *err);

#endif
