/* SPDX-License-Identifier: MIT
 * The training loop: steps, evaluation, checkpoints and the trained model of one run.
 */
#ifndef AOEI_TRAIN_TRAIN_LOOP_H
#define AOEI_TRAIN_TRAIN_LOOP_H

#include "aoe_train.h"
#include "train/trainer.h"

/* Runs a whole training: setup, the loop, and the model in its output directory. Errors: AOE_ECANCELLED with a checkpoint
 * written, if the event callback stops the run; those of the task, of opening and of saving a model. */
int aoei_train_run(aoe_context *ctx, const aoe_training_args *o, aoei_task *task, aoe_error *err);

#endif
