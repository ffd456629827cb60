/* SPDX-License-Identifier: MIT
 * The option parser. A command lists its options in tables (syntax.h), which define parsing, checks, --help and the hints for
 * misspelled names.
 * The parser also records which options were given, and replaces names of option fields in messages of the library by
 * flags. Texts that it stores in targets are valid until cli_args_free; argv must also remain valid until then.
 */
#ifndef AOE_CLI_COMMON_OPTIONS_H
#define AOE_CLI_COMMON_OPTIONS_H

#include <stddef.h>

#include "cli/common/syntax.h"

/* Parsed arguments. */
typedef struct cli_args {
    const char **operand; /* [n] operands, owned array */
    size_t n;
    char **owned; /* [n_owned] texts read from response files, owned */
    size_t n_owned;
    void **lists; /* [n_lists] arrays of options of kind CLI_TEXTS, owned */
    size_t n_lists;
    const cli_option **given; /* [n_given] given options in the order of the arguments, owned array */
    size_t n_given;
} cli_args;

enum { CLI_GO = -1 }; /* result of cli_parse: the arguments are valid and the command must run */

/* Parses the arguments after the command's name into the targets. Returns CLI_GO, or the exit code: 0 after --help or
 * --version, 2 after a usage error, 1 if a response file cannot be read or names an unset variable (all reported). */
int cli_parse(cli_args *args, const cli_syntax *s, int argc, char **argv);
void cli_args_free(cli_args *args);                    /* accepts a zeroed struct */
int cli_given(const cli_args *args, const char *name); /* returns 1 if the option --name was given */
/* Returns the first of names[n] whose option was given, or NULL. */
const char *cli_first_given(const cli_args *args, const char *const *names, size_t n);

/* Copies text into out[size] with each "options.FIELD" replaced by the flag of that field: "options.max_length" by
 * "--max-length". Fields without an option are copied unchanged. */
void cli_name_flags(char *out, size_t size, const char *text, const cli_syntax *s);

/* Return 1 if argument is -h or --help, or -V or --version. */
int cli_is_help_flag(const char *argument);
int cli_is_version_flag(const char *argument);
int cli_print_version(void); /* prints "aoe VERSION" to stdout; returns exit code 0 */

/* Reports a usage error of a command ("aoe: COMMAND: ... (see aoe COMMAND --help)") and returns 2. */
int cli_usage(const char *command, const char *fmt, ...);

/* Returns the index of text in names, a list ended by NULL. If text is not in the list, returns the number of names and sets
 * *err to a message in which `noun`, for example "format", says what the names are. */
size_t cli_choose(const char *const *names, const char *text, const char *noun, aoe_error *err);

/* Returns the element of names[n] that is most similar to the typed word, or NULL if none is similar enough for a hint. */
const char *cli_closest(const char *typed, const char *const *names, size_t n);

#endif
