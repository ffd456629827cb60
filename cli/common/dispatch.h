/* SPDX-License-Identifier: MIT
 * The tree of commands and its dispatcher. A command is one row of a table: either a leaf with a function, or a
 * group with a table of subcommands. Every group accepts help [SUBCOMMAND...], --help, -h, version, --version and -V.
 */
#ifndef AOE_CLI_COMMON_DISPATCH_H
#define AOE_CLI_COMMON_DISPATCH_H

#include <stddef.h>

typedef struct cli_command {
    const char *name;                          /* one word; "" for the program itself */
    const char *summary;                       /* one line for the help of the group above, without a full stop */
    int (*run)(int argc, char **argv);         /* leaf: argv[argc] follows the name; returns the exit code. Group: NULL */
    const struct cli_command *const *children; /* group: [n_children] in the order of the help; leaf: NULL */
    size_t n_children;                         /* group: number of subcommands */
    const char *about, *examples;              /* group: lines for the start and the end of its help; NULL for none */
} cli_command;

/* Runs the command of the tree that argv[argc] names. group: the program, or a group called `path` ("data"; "" for
 * the program). Returns the exit code; usage errors are reported. */
int cli_dispatch(const cli_command *group, const char *path, int argc, char **argv);

#endif
