/* SPDX-License-Identifier: MIT
 * What the evaluations (aoe eval ...) share: the course of one, how results are printed,
 * progress, and the notes about the texts. Each evaluation is a file of its own.
 */
#ifndef AOE_CLI_EVAL_EVAL_COMMON_H
#define AOE_CLI_EVAL_EVAL_COMMON_H

#include "cli/common/common.h"

typedef struct cli_eval_options {
    cli_general general;
    cli_model_options model;
    int format; /* a cli_table_format, or -1: not given */
} cli_eval_options;

enum { CLI_EVAL_FORMAT_COUNT = 1 };
extern const cli_option cli_eval_format_table[CLI_EVAL_FORMAT_COUNT]; /* base: cli_eval_options */

void cli_eval_defaults(cli_eval_options *o);
void cli_eval_print(cli_table *t, const cli_eval_options *o); /* cli_table_print_as */

/* A share or coefficient times 100, "undefined" for NaN. */
void cli_eval_percent(cli_table *t, double x);
/* Likewise as it is, with four digits; "-" for NaN. */
void cli_eval_number(cli_table *t, double x);
/* An aoe_eval_progress_fn; user: a cli_progress that has begun. */
int cli_eval_progress(void *user, size_t done, size_t total);

/* An evaluation: what it computes and how that is shown; report is its own and holds the options, too. */
typedef struct cli_evaluation {
    const cli_syntax *syntax;
    cli_eval_options *options; /* in the report */
    const char *doing, *unit;  /* of the progress: "embedding", "texts" */
    void *report;
    int (*open)(void *report); /* before the progress begins; 0, or 1 after reporting; NULL: nothing to open */
    int (*score)(void *report, aoe_embedder *e, const cli_args *args, cli_progress *progress, aoe_error *err);
    void (*count)(const void *report, size_t *empty, size_t *truncated); /* texts; also says what is odd in the results */
    void (*print_json)(const void *report);
    void (*print_table)(const void *report);
} cli_evaluation;

/* Parses, opens the model, scores, and prints when all is scored. The exit code. */
int cli_evaluate(const cli_evaluation *e, int argc, char **argv);

#endif
