/* SPDX-License-Identifier: MIT
 * The learning rate of each step of a training run.
 */
#pragma once

#include <jansson.h>

#include "train/trainer.h"

/* Checks the options of the optimizer and of the learning rate. Errors: AOE_EARG. */
int aoei_schedule_check(const aoe_training_args *o, aoe_error *err);
/* Returns the optimizer that the option options.optimizer selects. */
aoei_optimizer_kind aoei_optimizer_of(aoe_optimizer option);
/* Returns the learning rate of a step; steps are counted from 0. During warm-up, the learning rate increases
 * linearly. */
double aoei_learning_rate(const aoei_trainer *t, uint64_t step);
/* Returns 1 if options.lr_divide has reduced the learning rate below options.min_lr. */
int aoei_schedule_is_finished(const aoei_trainer *t);
