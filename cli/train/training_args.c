/* SPDX-License-Identifier: MIT
 * Sets the options of a run that `aoe train` and `aoe pretrain` have in common.
 */
#include "cli/train/training_args.h"

int cli_training_args_fill(aoe_training_args *a, char **dir, const cli_model_options *m, const cli_general *g) {
    *dir = cli_find_model(m->dir);
    a->model = *dir;
    a->model_options = m->o;
    a->batch_tokens = m->embedder.batch_tokens;
    a->seed = g->seed;
    return !*dir;
}
