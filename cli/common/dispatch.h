/* SPDX-License-Identifier: MIT
 * The tree of commands, and the function that runs one of them. A command is either a leaf, which has a function, or a group,
 * which has a table of subcommands. Every group accepts help [SUBCOMMAND...], --help, -h, version, --version and -V.
 */
#ifndef AOE_CLI_COMMON_DISPATCH_H
#define AOE_CLI_COMMON_DISPATCH_H

#include <stddef.h>

typedef struct cli_command {
    const char *name;                  /* one word; "" for the program itself */
    const char *summary;               /* one line for the help of the group that contains the command, without a full stop */
    int (*run)(int argc, char **argv); /* leaf: runs the command and returns the exit code; group: NULL */
    const struct cli_command *const *children; /* group: [n_children] subcommands in the order of the help; leaf: NULL */
    size_t n_children;                         /* group: number of subcommands */
    const char *about, *examples;              /* group: lines for the start and the end of its help; examples may be NULL */
} cli_command;

/* Runs the subcommand of `group` that argv[0] names, with the arguments after it. path: name of the group, for example "data";
 * "" for the program. Returns the exit code, after reporting usage errors. */
int cli_dispatch(const cli_command *group, const char *path, int argc, char **argv);

#endif
