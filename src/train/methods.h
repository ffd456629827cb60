/* SPDX-License-Identifier: MIT
 * Methods of fine-tuning: which objective the batches of a file get, by the run's
 * method and the form of the file, and whether that file gives the objective anything
 * to learn. The objectives themselves are objective/'s; docs/objectives.md has the table.
 */
#ifndef AOEI_TRAIN_METHODS_H
#define AOEI_TRAIN_METHODS_H

#include "objective/pair_step.h"
#include "train/batches.h"

/* What the batches of one file minimise. */
typedef struct aoei_goal {
    aoei_step_loss loss;
    int labelled;       /* 1: the step gets the labels */
    double label_scale; /* above 0: they are divided by it */
    aoe_objective_options objective;
} aoei_goal;

/* Checks options that belong to methods. */
int aoei_method_check(const aoe_train_options *o, aoe_error *err);
/* The goal of file `number`, whose examples are in source->data; sets source->threshold of labelled pairs. Errors: AOE_EARG
 * (the method has no use for that form, or no weight above 0 for it), AOE_EFORMAT (labels from which nothing is learned). */
int aoei_method_goal(aoei_goal *goal, const aoe_train_options *o, size_t number, aoei_source *source, aoe_error *err);

#endif
