/* SPDX-License-Identifier: MIT
 * The common part of the commands that train: options for the output and the schedule, and interruption. The first
 * SIGINT, SIGTERM or SIGHUP requests a checkpoint and a stop; a second signal ends the program immediately.
 */
#ifndef AOE_CLI_TRAIN_TRAINING_ARGS_H
#define AOE_CLI_TRAIN_TRAINING_ARGS_H

#include <aoe_train.h>

#include "cli/common/options.h"

enum { CLI_SCHEDULE_COUNT = 13, CLI_OUTPUT_COUNT = 3 };
extern const cli_option cli_schedule_table[CLI_SCHEDULE_COUNT]; /* base: aoe_training_args */
extern const cli_option cli_output_table[CLI_OUTPUT_COUNT];     /* base: aoe_training_args */

void cli_watch_interrupts(void);
int cli_interrupted(void); /* signal that requested the stop; 0: none */
/* Prints how to resume the run. last: the newest event. Returns the exit code. */
int cli_report_interrupt(const aoe_train_event *last);

#endif
