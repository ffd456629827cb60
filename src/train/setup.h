/* SPDX-License-Identifier: MIT
 * Prepares a training run: creates a trainer that is ready for its next step.
 */
#pragma once

#include "aoe_train.h"
#include "train/trainer.h"

/* Creates a trainer: checks the options, locks the output directory, opens the model and the data, and allocates all
 * memory. If o->resume is set and there is a checkpoint, restores the newest checkpoint that is not damaged. On
 * failure, *t is zeroed. */
int aoei_trainer_create(aoei_trainer *t, aoe_context *ctx, const aoe_training_args *o, aoei_task *task, aoe_error *err);
/* Checks the options that fine-tuning and pretraining have in common. Errors: AOE_EARG. */
int aoei_training_args_check(const aoe_training_args *o, aoe_error *err);
/* Creates a trainer for checks only: checks the options, opens the start model and loads the data, but writes no files,
 * allocates no memory for training and ignores o->resume. Destroy *t after success. On failure, *t is zeroed. */
int aoei_trainer_check(aoei_trainer *t, aoe_context *ctx, const aoe_training_args *o, aoei_task *task, aoe_error *err);
void aoei_trainer_destroy(aoei_trainer *t); /* accepts a zeroed struct */
