/* SPDX-License-Identifier: MIT
 * The option parser of every command. A command lists its options in tables, which define parsing, checks, --help and
 * the hints for misspelt names.
 * The parser also records which options were given, and maps the option fields that messages of the library name to
 * flags. Texts returned here are valid as long as the cli_args they were parsed into; argv must remain valid as long.
 */
#ifndef AOE_CLI_COMMON_OPTIONS_H
#define AOE_CLI_COMMON_OPTIONS_H

#include <stddef.h>

#include "cli/common/syntax.h"

typedef struct cli_args {
    const char **operand; /* [n], owned array */
    size_t n;
    char **owned; /* [n_owned] texts read from response files, owned */
    size_t n_owned;
    void **lists; /* [n_lists] arrays of CLI_TEXTS, owned */
    size_t n_lists;
    const cli_option **given; /* [n_given] options in the order of the arguments, owned array */
    size_t n_given;
} cli_args;

enum { CLI_GO = -1 }; /* cli_parse: the arguments are valid, run the command */

/* Parses the arguments after the command's name into the targets. Returns CLI_GO, or the exit code: 0 after --help or
 * --version, 2 after a usage error, 1 if a response file cannot be read or names an unset variable (all reported). */
int cli_parse(cli_args *args, const cli_syntax *s, int argc, char **argv);
void cli_args_free(cli_args *args);                    /* accepts a zeroed one */
int cli_given(const cli_args *args, const char *name); /* 1 if the option --name is among the arguments */
/* The first of names[n] whose option is among the arguments; NULL: none. */
const char *cli_first_given(const cli_args *args, const char *const *names, size_t n);

/* Copies text into out[size] with each "options.FIELD" replaced by the flag of that field: "options.max_length" by
 * "--max-length". Fields without an option are copied unchanged. */
void cli_name_flags(char *out, size_t size, const char *text, const cli_syntax *s);

/* 1 if argument is -h or --help; -V or --version. */
int cli_is_help_flag(const char *argument);
int cli_is_version_flag(const char *argument);
int cli_print_version(void); /* prints "aoe VERSION" to stdout; returns exit code 0 */

/* Reports a usage error of a command ("aoe: COMMAND: ... (see aoe COMMAND --help)") and returns 2. */
int cli_usage(const char *command, const char *fmt, ...);

/* The index of text in names, a list ended by NULL. Returns the number of names and fills in err if text is not one of them.
 * noun: what the names are, for the message. */
size_t cli_choose(const char *const *names, const char *text, const char *noun, aoe_error *err);

/* The element of names[n] that is closest to the typed word; NULL if none is close enough for a hint. */
const char *cli_closest(const char *typed, const char *const *names, size_t n);

#endif
