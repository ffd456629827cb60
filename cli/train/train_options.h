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
    const char *dev;     /* NULL: none */
    aoe_table_options table, dev_table;
    aoe_train_options t;
    aoe_train_data *files; /* [t.n_data] owned; t.data */
    char *model_dir;       /* owned; t.args.model after cli_train_config_resolve */
    cli_args args;         /* owned; which options were given, and their texts */
    cli_syntax syntax;     /* of aoe train, with the groups below */
    cli_group groups[CLI_TRAIN_GROUPS];
} cli_train_config;

/* Parses the arguments after "train". Returns CLI_GO, or the exit code after reporting; the caller frees *c in any case.
 * *c must not move until it is freed; argv must stay valid. */
int cli_train_config_parse(cli_train_config *c, int argc, char **argv);
/* Checks options that contradict each other or are missing. CLI_GO, or exit code 2 after reporting. */
int cli_train_config_check(const cli_train_config *c);
/* Fills the fields of c->t.args that the shared option tables hold: model, model options, batch size of tokens and seed.
 * Returns 0, or 1 after reporting that there is no model. */
int cli_train_config_resolve(cli_train_config *c);
void cli_train_config_free(cli_train_config *c);

#endif
