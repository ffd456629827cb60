/* SPDX-License-Identifier: MIT
 * Finds a command in the tree of commands and runs it. Also prints the help of command groups, the version, and error
 * messages about unknown commands.
 */
#include "cli/common/dispatch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/closest.h"
#include "cli/common/output.h"
#include "cli/common/words.h"

/* Returns the placeholder for the name of a command in usage lines, such as "COMMAND". */
static const char *placeholder(const char *path) {
    return path[0] ? "SUBCOMMAND" : "COMMAND";
}

/* Prints the commands of a group with their summaries. path: names of the group and its parents, such as "data"; "" for
 * the program itself. */
static void print_help(FILE *out, const cli_command *group, const char *path) {
    const char *space = path[0] ? " " : "", *what = placeholder(path);
    fprintf(out, "usage: aoe %s%s%s [OPTIONS] [FILES]\n\n%s\n", path, space, what, group->about);
    for (size_t i = 0; i < group->n_children; i++)
        fprintf(out, "  %-14s %s\n", group->children[i]->name, group->children[i]->summary);
    fprintf(out, "\n  aoe %s%s%s --help    help of a %s\n", path, space, what, path[0] ? "subcommand" : "command");
    if (group->examples)
        fputs(group->examples, out);
}

static const cli_command *find(const cli_command *group, const char *name) {
    for (size_t i = 0; i < group->n_children; i++)
        if (strcmp(name, group->children[i]->name) == 0)
            return group->children[i];
    return NULL;
}

/* Reports that the group has no command `name`. The message suggests the most similar name or, if no name is similar,
 * lists all names. Returns the exit code. */
static int unknown(const cli_command *group, const char *path, const char *name) {
    const char *noun = path[0] ? "subcommand" : "command";
    const char **names = cli_realloc(NULL, group->n_children * sizeof *names);
    char list[512] = "";
    size_t len = 0;
    for (size_t i = 0; i < group->n_children; i++) {
        names[i] = group->children[i]->name;
        if (len < sizeof list)
            len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", i ? ", " : "", names[i]);
    }
    const char *closest = aoei_closest(name, names, group->n_children);
    free(names);
    if (closest)
        return cli_usage(path, "unknown %s '%s'; did you mean %s?", noun, name, closest);
    return cli_usage(path, "unknown %s '%s'; choose one of %s", noun, name, list);
}

static int run(const cli_command *command, const char *path, int argc, char **argv) {
    return command->run ? command->run(argc, argv) : cli_dispatch(command, path, argc, argv);
}

/* Runs the subcommand that argv[0] names. If help is 1, prints the help of this subcommand instead. If the subcommand
 * is a group and argv[1] names one of its subcommands, prints the help of the subcommand that argv[1] names. */
static int run_child(const cli_command *group, const char *path, int help, int argc, char **argv) {
    static char help_word[] = "help", help_flag[] = "--help";
    const cli_command *child = find(group, argv[0]);
    if (!child)
        return unknown(group, path, argv[0]);
    char *child_path = cli_format("%s%s%s", path, path[0] ? " " : "", child->name);
    int code;
    if (!help) {
        code = run(child, child_path, argc - 1, argv + 1);
    } else if (child->run && argc > 1) {
        code = cli_usage(child_path, "unexpected argument '%s': %s has no subcommands", argv[1], child_path);
    } else {
        argv[0] = child->run ? help_flag : help_word; /* `aoe help data mine` is run as `aoe data help mine` */
        code = run(child, child_path, argc, argv);
    }
    free(child_path);
    return code;
}

void cli_read_commands(const cli_command *group, cli_syntax_fn read, void *user) {
    for (size_t i = 0; i < group->n_children; i++)
        if (group->children[i]->run)
            cli_read_syntax(group->children[i]->run, read, user);
        else
            cli_read_commands(group->children[i], read, user);
}

int cli_dispatch(const cli_command *group, const char *path, int argc, char **argv) {
    if (argc == 0) {
        print_help(stderr, group, path);
        return 2;
    }
    const char *first = argv[0];
    if (strcmp(first, "help") == 0 && argc > 1)
        return run_child(group, path, 1, argc - 1, argv + 1);
    if (strcmp(first, "help") == 0 || cli_is_help_flag(first)) {
        print_help(stdout, group, path);
        return 0;
    }
    if (strcmp(first, "version") == 0 || cli_is_version_flag(first))
        return cli_print_version();
    if (first[0] == '-')
        return cli_usage(path, "option '%s' must follow the %s: aoe %s%s%s [OPTIONS]", first,
                         path[0] ? "subcommand" : "command", path, path[0] ? " " : "", placeholder(path));
    return run_child(group, path, 0, argc, argv);
}
