/* SPDX-License-Identifier: MIT
 * Executes a trial in a child process: trains the model, evaluates the model, and writes the record of the trial.
 */
#pragma once

#include "aoe_experiment.h"
#include "aoe_train.h"
#include "experiment/process.h"
#include "experiment/trial.h"

/* Executes a trial and writes its record. If the trial has a checkpoint, training resumes from the newest one. If there
 * is a model but no checkpoint, the model is replaced. Errors: AOE_ECANCELLED if the trial was stopped (a checkpoint
 * was written), and the errors of aoe_train and aoe_eval_sts. */
int aoei_trial_work(const aoe_experiment_options *o, const aoei_trial *t, size_t threads, aoei_child *child,
                    aoe_error *err);
