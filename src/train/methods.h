/* SPDX-License-Identifier: MIT
 * Fine-tuning methods: how a file is read, which objective its batches minimise, and
 * which layer after the vectors is trained with it. These depend on the method of the run
 * and the kind of examples in the file. The objectives are in src/loss; docs/objectives.md
 * contains the table of methods.
 */
#ifndef AOEI_TRAIN_METHODS_H
#define AOEI_TRAIN_METHODS_H

#include "aoe_train.h"
#include "train/pair_step.h"
#include "train/batch_plan.h"

/* The loss that the batches of one file minimise. */
typedef struct aoei_file_loss {
    aoei_step_loss loss;
    int labelled;       /* 1: the loss uses the labels */
    size_t copies;      /* how many times each text is encoded: 2 for plain texts, else 1 */
    double label_scale; /* labels are divided by it; above 0 */
    double threshold;   /* pairs with labels >= threshold are positive; NaN: not used */
    aoe_objective_options objective;
} aoei_file_loss;

/* Checks the options that belong to methods. Errors: AOE_EARG. */
int aoei_method_check(const aoe_train_options *o, aoe_error *err);
/* Reads file `number` in the way of the method. Sets file_loss->threshold if it selected the examples. The caller frees *e,
 * also on failure. */
int aoei_method_load(aoei_examples *e, aoei_file_loss *file_loss, const aoe_train_options *o, size_t number, aoe_error *err);
/* Fills the other fields of file_loss for that file, whose examples are in d. Errors: AOE_EARG (the method does not train on
 * this kind of examples, or all its weights are 0), AOE_EFORMAT (labels without information). */
int aoei_method_loss(aoei_file_loss *file_loss, const aoe_train_options *o, size_t number, const aoei_dataset *d,
                     aoe_error *err);
/* Adds the layer that the method trains after the vectors to the model, unless the model has it. highest: the highest label of
 * all files. */
int aoei_method_layer(const aoe_train_options *o, aoe_model *m, double highest, aoe_error *err);

#endif
