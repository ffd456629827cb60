/* SPDX-License-Identifier: MIT
 * Between the files of experiment.h alone: what one of them needs of another.
 */
#ifndef AOE_CLI_EXPERIMENT_EXPERIMENT_CHECK_H
#define AOE_CLI_EXPERIMENT_EXPERIMENT_CHECK_H

#include "aoe_data.h"
#include "cli/experiment/experiment.h"

void cli_experiment_drop(cli_experiment *e, size_t i); /* leaves a trial out */
void cli_plans_free(struct cli_plans *p);              /* NULL accepted */
/* How a file to score by is read: that of --dev with its own settings, others as the training options say. */
aoe_table_options cli_score_table(const cli_train_view *v, const char *path);
/* Written beside and renamed. 0, or 1 after reporting. */
int cli_write_json(const char *path, const json_t *value);

#endif
