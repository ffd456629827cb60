/* SPDX-License-Identifier: MIT
 * Runs the training loop: computes the steps, evaluates the model, writes checkpoints and saves the trained model.
 */
#ifndef AOEI_TRAIN_TRAIN_LOOP_H
#define AOEI_TRAIN_TRAIN_LOOP_H

#include "aoe_train.h"
#include "train/trainer.h"

/* Executes a complete training run: checks the options, trains the model, and saves it. Errors: AOE_ECANCELLED if the event
 * callback stops the run (a checkpoint is written first), errors of the task, and errors of opening and saving a model. */
int aoei_train_run(aoe_context *ctx, const aoe_training_args *o, aoei_task *task, aoe_error *err);

#endif
