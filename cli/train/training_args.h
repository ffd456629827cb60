/* SPDX-License-Identifier: MIT
 * Option tables that `aoe train` and `aoe pretrain` have in common: options for the output and for the training
 * schedule.
 */
#ifndef AOE_CLI_TRAIN_TRAINING_ARGS_H
#define AOE_CLI_TRAIN_TRAINING_ARGS_H

#include <aoe_train.h>

#include "cli/common/common.h"

enum { CLI_SCHEDULE_COUNT = 22, CLI_OUTPUT_COUNT = 3 };
/* The options of both tables set the fields of an aoe_training_args. */
extern const aoei_option cli_schedule_table[CLI_SCHEDULE_COUNT];
extern const aoei_option cli_output_table[CLI_OUTPUT_COUNT];

/* Sets the fields of *a for the model, the options of the model, the number of tokens per batch, and the seed. Sets
 * *dir to the model directory, which the caller frees with free(). Returns 0, or 1 after reporting that there is no
 * model. */
int cli_training_args_fill(aoe_training_args *a, char **dir, const cli_model_options *m, const cli_general *g);

#endif
