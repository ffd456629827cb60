/* SPDX-License-Identifier: MIT
 * Decides which trained models stay on disk and which of them is the best. A trial whose score is undefined is never the best.
 * If scores are equal, the first trial is the best.
 */
#ifndef AOEI_EXPERIMENT_KEEP_H
#define AOEI_EXPERIMENT_KEEP_H

#include "aoe_train.h"
#include "experiment/trial.h"

/* Sets *best to the index of the trial with the highest first score among the finished trials whose models are on disk, or
 * to n if there is no such trial. Errors: AOE_ENOMEM. */
int aoei_keep_find_best(size_t *best, const aoe_experiment_options *o, const aoei_trial *trial, size_t n, aoe_error *err);

/* Removes the checkpoints of trial i, which has just finished, and the models that options.keep does not keep. *best: index
 * of the best trial so far, or n if there is none. If trial i is better and its model is kept, *best is set to i. */
int aoei_keep_clean_up(const aoe_experiment_options *o, const aoei_trial *trial, size_t n, size_t i, size_t *best,
                       aoe_error *err);

#endif
