/* SPDX-License-Identifier: MIT
 * Commands that are families (aoe data, aoe eval, aoe plot): finds the member named by the
 * first argument, lists all of them, and helps where the name is wrong. A member is one row of a table.
 */
#ifndef AOE_CLI_COMMON_DISPATCH_H
#define AOE_CLI_COMMON_DISPATCH_H

#include "cli/common/common.h"

typedef struct cli_family {
    const char *command;     /* "eval" */
    const char *noun;        /* what a member is called: "evaluation" */
    const char *usage;       /* what follows the command: "EVALUATION [OPTIONS] FILE..." */
    const char *about;       /* lines of text, each ended by \n */
    const cli_command *list; /* [n], in the order of the help */
    size_t n;
} cli_family;

/* argv holds what follows the command's name. Returns the exit code. */
int cli_run_subcommand(const cli_family *f, int argc, char **argv);

#endif
