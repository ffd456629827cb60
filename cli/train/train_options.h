/* SPDX-License-Identifier: MIT
 * The options of aoe train, for commands that train several models: they are
 * parsed and checked as aoe train would, and nothing is opened or run.
 */
#ifndef AOE_CLI_TRAIN_TRAIN_OPTIONS_H
#define AOE_CLI_TRAIN_TRAIN_OPTIONS_H

#include "aoe_data.h"
#include "aoe_train.h"
#include "cli/common/common.h"

typedef struct cli_train_view { /* all borrowed for the call */
    const cli_syntax *syntax;   /* which options there are */
    const cli_general *general;
    const cli_model_options *model;
    const aoe_table_options *table;
    const aoe_train_options *train; /* of args: epochs to force; model, seed and events are in the other fields */
    const char *dev;                /* NULL: none */
    const aoe_table_options *dev_table;
} cli_train_view;

/* CLI_GO: the options are to be checked together; else that is what cli_train_parse returns. */
typedef int (*cli_train_look)(void *user, const cli_train_view *view);
/* Parses what follows "train", lets look see it, then checks it. CLI_GO: aoe train would start; else its exit code, after
 * reporting why. */
int cli_train_parse(int argc, char **argv, cli_train_look look, void *user);

#endif
