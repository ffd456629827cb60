/* SPDX-License-Identifier: MIT
 * The common part of the evaluations (aoe eval ...): their steps, printing of results, progress, and warnings about
 * texts.
 */
#ifndef AOE_CLI_EVAL_EVAL_COMMON_H
#define AOE_CLI_EVAL_EVAL_COMMON_H

#include "cli/common/common.h"

typedef struct cli_eval_options {
    cli_general general;
    cli_model_options model;
    int format; /* a cli_table_format; -1: not given */
} cli_eval_options;

enum { CLI_EVAL_FORMAT_COUNT = 1 };
extern const cli_option cli_eval_format_table[CLI_EVAL_FORMAT_COUNT]; /* base: cli_eval_options */

void cli_eval_defaults(cli_eval_options *o);
void cli_eval_print(cli_table *t, const cli_eval_options *o); /* prints the table in the format of the options */

/* Adds a cell with 100 x and two digits; "undefined" if x is NaN. */
void cli_eval_percent(cli_table *t, double x);
/* Adds a cell with x and four digits; "-" if x is NaN. */
void cli_eval_number(cli_table *t, double x);
/* An aoe_eval_progress_fn; user: a cli_progress that has begun. */
int cli_eval_progress(void *user, size_t done, size_t total);

/* The functions and names of one evaluation. */
typedef struct cli_evaluation {
    const cli_syntax *syntax;
    cli_eval_options *options; /* options, part of the report */
    const char *doing, *unit;  /* texts of the progress line: "embedding", "texts" */
    void *report;              /* options and results; argument of the functions below */
    int (*open)(void *report); /* called before score; returns 0, or 1 after reporting an error; NULL: not called */
    int (*score)(void *report, aoe_embedder *e, const cli_args *args, cli_progress *progress, aoe_error *err);
    void (*count)(
        const void *report, size_t *empty,
        size_t *truncated); /* sets the number of empty and of truncated texts, and prints warnings about the results */
    void (*print_json)(const void *report);
    void (*print_table)(const void *report);
} cli_evaluation;

/* Parses the arguments, opens the model, evaluates all inputs, then prints the results. Returns the exit code. */
int cli_evaluate(const cli_evaluation *e, int argc, char **argv);

#endif
