/* SPDX-License-Identifier: MIT
 * Defines the tree of commands and runs a command. A command is either a leaf, which has a function, or a group, which
 * has a table of subcommands. Every group accepts the arguments "help [SUBCOMMAND...]", "--help", "-h", "version",
 * "--version" and "-V".
 */
#pragma once

#include <stddef.h>

#include "cli/common/options.h"

typedef struct cli_command {
    const char *name;                  /* one word; "" for the program itself */
    const char *summary;               /* description in the help of the parent group: one line without a full stop */
    int (*run)(int argc, char **argv); /* leaf: runs the command and returns the exit code; group: NULL */
    const struct cli_command *const *children; /* group: [n_children] subcommands in the order of the help; leaf:
                                                  NULL */
    size_t n_children;                         /* group: number of subcommands */
    /* group: first lines (about) and last lines (examples) of its help; examples may be NULL */
    const char *about, *examples;
} cli_command;

/* Calls read(user, syntax) with the syntax of each leaf of the tree, in the order of the help. */
void cli_read_commands(const cli_command *group, cli_syntax_fn read, void *user);

/* Runs the subcommand of `group` that argv[0] names and passes the remaining arguments to it. path: name of the group,
 * for example "data"; "" for the program itself. Returns the exit code. Usage errors are reported. */
int cli_dispatch(const cli_command *group, const char *path, int argc, char **argv);
