/* SPDX-License-Identifier: MIT
 * From options to a trainer that is ready to take its first (or next) step.
 */
#ifndef AOEI_TRAIN_SETUP_H
#define AOEI_TRAIN_SETUP_H

#include "train/trainer.h"

/* Checks options and inputs, opens the model and the data, lays everything out and, when resuming, restores the newest
 * checkpoint. Writes nothing. On failure *t is zeroed. */
int aoei_trainer_create(aoei_trainer *t, aoe_context *ctx, const aoe_train_options *o, aoe_error *err);
/* Errors when the output directory holds something that this run would replace without having been told to. */
int aoei_trainer_check_output(const aoei_trainer *t, aoe_error *err);
void aoei_trainer_destroy(aoei_trainer *t); /* accepts a zeroed one */

#endif
