/* SPDX-License-Identifier: MIT
 * What the commands that train share: the options of a run's course and output,
 * and interruption: the first SIGINT or SIGTERM asks for a checkpoint and the end,
 * the second one ends the program at once.
 */
#ifndef AOE_CLI_TRAIN_TRAINING_ARGS_H
#define AOE_CLI_TRAIN_TRAINING_ARGS_H

#include <aoe_train.h>

#include "cli/common/options.h"

enum { CLI_SCHEDULE_COUNT = 13, CLI_OUTPUT_COUNT = 3 };
extern const cli_option cli_schedule_table[CLI_SCHEDULE_COUNT]; /* base: aoe_training_args */
extern const cli_option cli_output_table[CLI_OUTPUT_COUNT];     /* base: aoe_training_args */

void cli_watch_interrupts(void);
int cli_interrupted(void); /* the signal that asked for the end; 0: none */
/* Says how to go on; returns the exit code. last: the newest event. */
int cli_report_interrupt(const aoe_train_event *last);

#endif
