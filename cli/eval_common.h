/* SPDX-License-Identifier: MIT
 * What the evaluations (aoe eval ...) share: how results are printed, progress, and the
 * notes about the texts. Each evaluation is a file of its own.
 */
#ifndef AOE_CLI_EVAL_COMMON_H
#define AOE_CLI_EVAL_COMMON_H

#include "common.h"

typedef struct cli_eval_options {
    cli_general general;
    cli_model_options model;
    int format; /* a cli_table_format, or -1: not given */
} cli_eval_options;

enum { CLI_EVAL_FORMAT_COUNT = 1 };
extern const cli_option cli_eval_format_table[CLI_EVAL_FORMAT_COUNT]; /* base: cli_eval_options */

void cli_eval_defaults(cli_eval_options *o);
/* CLI_GO, or the exit code of a usage error: --json beside --format. */
int cli_eval_check(const cli_eval_options *o, const char *command);
void cli_eval_print(cli_table *t, const cli_eval_options *o); /* cli_table_print_as */

/* A share or coefficient times 100, "undefined" for NaN. */
void cli_eval_percent(cli_table *t, double x);
/* Likewise as it is, with four digits; "-" for NaN. */
void cli_eval_number(cli_table *t, double x);
/* What is to be known of the texts: empty ones, and how long ones are read. truncated: how many were cut. */
void cli_eval_notes(const cli_session *s, const cli_eval_options *o, size_t empty, size_t truncated);
/* An aoe_eval_progress_fn; user: a cli_progress that has begun. */
int cli_eval_progress(void *user, size_t done, size_t total);

#endif
