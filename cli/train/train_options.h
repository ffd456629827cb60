/* SPDX-License-Identifier: MIT
 * The options of aoe train as an object, so that other commands can parse and check several sets of them.
 */
#ifndef AOE_CLI_TRAIN_TRAIN_OPTIONS_H
#define AOE_CLI_TRAIN_TRAIN_OPTIONS_H

#include "aoe_data.h"
#include "aoe_train.h"
#include "cli/common/common.h"

enum { CLI_TRAIN_GROUPS = 11 };

typedef struct cli_train_config {
    cli_general general;
    cli_model_options model;
    cli_texts data;      /* training files, each followed by its settings */
    cli_texts dev_texts; /* the dev file and its settings */
    const char *dev;     /* path of the dev set; NULL: none */
    aoe_table_options table, dev_table;
    aoe_train_options t;
    aoe_train_data *files; /* [t.n_data] training files, owned; t.data points to them */
    char *model_dir;       /* model directory, owned; set by cli_train_config_resolve */
    cli_args args;         /* parsed arguments, owned */
    cli_syntax syntax;     /* syntax of aoe train, with the groups below */
    cli_group groups[CLI_TRAIN_GROUPS];
} cli_train_config;

/* Parses the arguments after "train". Returns CLI_GO, or the exit code after reporting; the caller frees *c in any case.
 * *c must not move until it is freed; argv must stay valid. */
int cli_train_config_parse(cli_train_config *c, int argc, char **argv);
/* Rejects missing and contradictory options. Returns CLI_GO, or exit code 2 after reporting an error. */
int cli_train_config_check(const cli_train_config *c);
/* Sets the fields of c->t.args that come from options shared with other commands: model, its options, tokens per batch and
 * seed. Returns 0, or 1 after reporting that there is no model. */
int cli_train_config_resolve(cli_train_config *c);
void cli_train_config_free(cli_train_config *c);

#endif
