/* SPDX-License-Identifier: MIT
 * Finds the best trial of an experiment and decides which trained models stay on disk. A trial whose score is undefined
 * is never the best. If scores are equal, the first trial is the best.
 */
#pragma once

#include "aoe_experiment.h"
#include "aoe_train.h"
#include "experiment/trial.h"

/* Sets *best to the index of the best trial: the finished trial with the highest first score, among the trials whose
 * models are on disk. If there is no such trial, *best is set to n. Errors: AOE_ENOMEM. */
int aoei_keep_find_best(size_t *best, const aoe_experiment_options *o, const aoei_trial *trial, size_t n,
                        aoe_error *err);

/* Called after trial i has finished. Removes the checkpoints of trial i, and the models that o->keep does not keep. On
 * entry, *best is the index of the best trial before trial i finished, or n if there was none. If trial i is better and
 * its model is kept, *best is set to i. Does nothing if the configuration of trial i is untrained. */
int aoei_keep_clean_up(const aoe_experiment_options *o, const aoei_trial *trial, size_t n, size_t i, size_t *best,
                       aoe_error *err);

/* Removes the models of the finished trials that o->keep does not keep. best: index of the best trial, or n. */
int aoei_keep_remove_others(const aoe_experiment_options *o, const aoei_trial *trial, size_t n, size_t best,
                            aoe_error *err);
