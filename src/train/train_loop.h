/* SPDX-License-Identifier: MIT
 * Runs the training loop: computes the steps, evaluates the model, writes checkpoints and saves the trained model.
 */
#pragma once

#include "aoe_train.h"
#include "train/trainer.h"

/* Returns 1 if the event of a completed step is written to the training log, which contains at most about 1,000 step
 * events: step 1, and every step that is a multiple of an interval. */
int aoei_is_logged_step(const aoei_trainer *t, uint64_t step);
/* Executes a complete training run: checks the options, trains the model, and saves it. Errors: AOE_ECANCELLED if the
 * event callback stops the run (a checkpoint is written first), errors of the task, and errors of opening and saving a
 * model. */
int aoei_train_run(aoe_context *ctx, const aoe_training_args *o, aoei_task *task, aoe_error *err);
