/* SPDX-License-Identifier: MIT
 * Sets the options of a run that `aoe train` and `aoe pretrain` have in common.
 */
#pragma once

#include <aoe_train.h>

#include "cli/common/common.h"

/* Sets the fields of *a for the model, the options of the model, the number of tokens per batch, and the seed. Sets
 * *dir to the model directory, which the caller frees with free(). Returns 0, or 1 after reporting that there is no
 * model. */
int cli_training_args_fill(aoe_training_args *a, char **dir, const cli_model_options *m, const cli_general *g);
