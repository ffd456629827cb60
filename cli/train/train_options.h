/* SPDX-License-Identifier: MIT
 * Parses and checks the options of `aoe train` and stores them in a struct (cli_train_config). `aoe grid` and `aoe
 * compare` use the same functions for the options of their training runs.
 */
#pragma once

#include "aoe_data.h"
#include "aoe_train.h"
#include "cli/train/distributed.h"
#include "cli/common/common.h"
#include "cli/common/part.h"

enum { CLI_TRAIN_GROUPS = 21 };

typedef struct cli_train_config {
    cli_general general;
    cli_distributed distributed;
    cli_model_options model;
    aoei_text_list data;      /* names of training files; the settings of a file follow its name */
    aoei_text_list dev_texts; /* name of the dev file and its settings */
    const char *dev;          /* path of the dev file; NULL: none */
    aoe_table_options table, dev_table;
    aoe_train_options t;
    aoei_text_list teachers;               /* values of --teacher; t.teachers contains them */
    aoei_part part;                        /* --part; n is 0: none */
    const char *prefix_text;               /* value of --matryoshka; NULL: none */
    aoe_prefix prefixes[AOE_MAX_PREFIXES]; /* the sizes and weights in prefix_text; t.matryoshka points to this array */
    aoe_train_data *files; /* [t.n_data] training files with their settings, owned; t.data points to this array */
    char *model_dir;       /* model directory, owned; set by cli_train_config_resolve */
    cli_args args;         /* parsed arguments, owned */
    cli_syntax syntax;     /* syntax of `aoe train`, with the groups of options below */
    cli_group groups[CLI_TRAIN_GROUPS];
    aoei_option table_options[AOEI_COLUMN_ROWS]; /* aoei_table_table with the defaults of the method for the help */
    aoei_option model_options[AOEI_MODEL_ROWS];  /* aoei_model_table with the defaults of the method for the help */
    aoe_method help_method;                      /* method whose options --help lists; syntax.method points to it */
} cli_train_config;

/* Parses the arguments of `aoe train`. Returns CLI_GO, or the exit code after --help or after reporting an error. The
 * caller frees *c in both cases. Until then, the address of *c must not change, and argv must remain valid. */
int cli_train_config_parse(cli_train_config *c, int argc, char **argv);
/* Checks that no required option is missing and that no options contradict each other. Returns CLI_GO, or exit code 2
 * after reporting an error. */
int cli_train_config_check(const cli_train_config *c);
/* Returns 1 if the labels of all training data of the method are classes. */
int cli_trains_on_classes(aoe_method method);
/* Returns the method that the command line names with --method, or AOE_METHOD_COUNT if it names none. Methods in
 * response files are not found. */
aoe_method cli_named_method(int argc, char **argv);
/* Rejects options that the method does not use. command: name of the command for messages. Returns CLI_GO, or exit code
 * 2 after reporting an error. */
int cli_check_used(const char *command, const cli_args *args, aoe_method method);
/* Sets the fields of c->t.args for the model, the options of the model, the number of tokens per batch, and the seed.
 * Also sets c->model_dir. Returns 0, or 1 after reporting that there is no model. */
int cli_train_config_resolve(cli_train_config *c);
void cli_train_config_free(cli_train_config *c);
