/* SPDX-License-Identifier: MIT
 * The common part of the evaluation commands (aoe eval ...). Each command is described by a cli_evaluation. cli_evaluate parses
 * the arguments, opens the model, calls the evaluation function of the library, stores its results, and prints them.
 */
#ifndef AOE_CLI_EVAL_EVAL_COMMON_H
#define AOE_CLI_EVAL_EVAL_COMMON_H

#include "cli/common/common.h"

/* State of one evaluation: options that all evaluation commands have, results, and progress. */
typedef struct cli_eval {
    cli_general general;
    cli_model_options model;
    cli_table_format format;
    void *own;     /* options of the command, borrowed from cli_evaluation.own */
    void *results; /* [n] copies of the library's results, result_size bytes each, owned; do not use the pointers in them */
    char **names;  /* [n] names of the results, owned */
    size_t n, result_size;
    size_t empty, truncated; /* number of empty texts and of truncated texts */
    cli_progress progress;
} cli_eval;

typedef enum cli_eval_kind {
    CLI_EVAL_COUNT,   /* size_t */
    CLI_EVAL_RARE,    /* size_t; a table has no column for it if it is 0 in all results */
    CLI_EVAL_PERCENT, /* double; tables show it times 100 with two digits, or "undefined" if it is NaN */
    CLI_EVAL_NUMBER   /* double; tables show four digits, or "-" if it is NaN */
} cli_eval_kind;

/* A field of a result that is printed. */
typedef struct cli_eval_field {
    const char *key;     /* key in JSON; NULL: not printed in JSON */
    const char *heading; /* heading of the column in tables; NULL: no column */
    cli_eval_kind kind;
    size_t offset; /* offset of the field in the result, in bytes */
} cli_eval_field;

/* Initializes `fields` and `n_fields`. */
#define CLI_EVAL_FIELDS(array) .fields = array, .n_fields = sizeof(array) / sizeof *(array)

/* An evaluation command. All functions except score may be NULL. */
typedef struct cli_evaluation {
    const char *command, *operands, *about, *examples; /* as in cli_syntax */
    const cli_group *groups;                           /* [n_groups] options of the command, in addition to the common ones */
    size_t n_groups;
    void *own;                    /* options of the command: cli_eval.own */
    const char *doing, *unit;     /* texts of the progress line: "embedding", "texts" */
    size_t result_size;           /* size of a result in bytes */
    const cli_eval_field *fields; /* [n_fields] fields that are printed after the name if print_json or print_table is NULL */
    size_t n_fields;
    int (*open)(cli_eval *e); /* called after the model is opened; returns 0, or 1 after reporting an error */
    /* Calls the evaluation function of the library with a callback that calls cli_eval_keep. Returns an error code. */
    int (*score)(cli_eval *e, aoe_embedder *embedder, const cli_args *args, aoe_error *err);
    void (*warn)(const cli_eval *e); /* prints warnings about the results */
    void (*print_json)(const cli_eval *e);
    void (*print_table)(const cli_eval *e);
} cli_evaluation;

/* Parses the arguments, opens the model, evaluates all inputs, then prints the results. Returns the exit code. */
int cli_evaluate(const cli_evaluation *e, int argc, char **argv);

/* Appends a copy of a result with a name. empty, truncated: numbers of texts to add to the totals. */
void cli_eval_keep(cli_eval *e, const void *result, const char *name, size_t empty, size_t truncated);
/* Shows the progress; has the type aoe_eval_progress_fn. user: the cli_eval. */
int cli_eval_progress(void *user, size_t done, size_t total);

/* Appends a cell with 100 x and two digits, or "undefined" if x is NaN. */
void cli_eval_percent(cli_table *t, double x);

#endif
