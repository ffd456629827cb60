/* SPDX-License-Identifier: MIT
 * Methods of fine-tuning: how a file is read, which objective its batches get, and
 * which layer behind the vectors is trained with it, by the run's method and the form
 * of the file; and whether the file gives the objective anything to learn. The
 * objectives themselves are objective/'s; docs/objectives.md has the table.
 */
#ifndef AOEI_TRAIN_METHODS_H
#define AOEI_TRAIN_METHODS_H

#include "aoe_train.h"
#include "train/pair_step.h"
#include "train/batch_plan.h"

/* What the batches of one file minimise. */
typedef struct aoei_file_loss {
    aoei_step_loss loss;
    int labelled;       /* 1: the step gets the labels */
    size_t copies;      /* how often each text of an example goes in: 2 of plain texts, else 1 */
    double label_scale; /* above 0: they are divided by it */
    double threshold;   /* labels from here on are positive pairs; NaN: none is asked */
    aoe_objective_options objective;
} aoei_file_loss;

/* Checks options that belong to methods. */
int aoei_method_check(const aoe_train_options *o, aoe_error *err);
/* Reads file `number` as the method has it; file_loss->threshold is set where it decided what was taken. *e is to be freed
 * either way. */
int aoei_method_load(aoei_examples *e, aoei_file_loss *file_loss, const aoe_train_options *o, size_t number, aoe_error *err);
/* The rest of the file_loss of that file, whose examples are in d. Errors: AOE_EARG (the method has no use for that form, or no
 * weight above 0 for it), AOE_EFORMAT (labels from which nothing is learned). */
int aoei_method_loss(aoei_file_loss *file_loss, const aoe_train_options *o, size_t number, const aoei_dataset *d,
                     aoe_error *err);
/* Gives the model the layer that the method trains behind the vectors, unless it has it. highest: label of all files. */
int aoei_method_layer(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err);

#endif
