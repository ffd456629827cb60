/* SPDX-License-Identifier: MIT
 * The option parser. A command describes its options in tables (syntax.h). The parser stores the value of each option
 * in a variable, the target of the option, and records which options were given. In messages of the library, it
 * replaces the names of option fields by flags. Texts that are stored in targets are valid until cli_args_free is
 * called; argv must also remain valid until then.
 */
#pragma once

#include <stddef.h>

#include "cli/common/syntax.h"

/* Parsed arguments. */
typedef struct cli_args {
    const char **operand; /* [n] operands; the array is owned */
    size_t n;
    char **owned; /* [n_owned] texts read from response files, owned */
    size_t n_owned;
    void **lists; /* [n_lists] arrays of the values of options that may be repeated, owned */
    size_t n_lists;
    const aoei_option **given; /* [n_given] options that were given, in the order of the arguments; the array is
                                  owned */
    size_t n_given;
} cli_args;

enum { CLI_GO = -1 }; /* result of cli_parse: the arguments are valid and the command must run */

/* Receives the syntax of a command. The targets of its options have their default values. */
typedef void (*cli_syntax_fn)(void *user, const cli_syntax *s);
/* Calls read(user, syntax) with the syntax of a command instead of running the command. run: the command. */
void cli_read_syntax(int (*run)(int argc, char **argv), cli_syntax_fn read, void *user);

/* Parses the arguments after the name of the command and sets the targets. Returns CLI_GO if the command must run.
 * Otherwise returns the exit code of the program: 0 after --help or --version; 2 after a usage error; 1 if a response
 * file cannot be read or contains the name of an environment variable that is not set. Errors are reported. */
int cli_parse(cli_args *args, const cli_syntax *s, int argc, char **argv);
void cli_args_free(cli_args *args);                    /* accepts a zeroed struct */
int cli_given(const cli_args *args, const char *name); /* returns 1 if the option --name was given */
/* Replaces each operand that is the name of a model on the Hugging Face Hub by the model directory (aoe_model_find).
 * Returns CLI_GO, or 1 after reporting that a model is missing. */
int cli_find_operand_models(cli_args *args);
/* Returns the first of names[n] whose option was given, or NULL. */
const char *cli_first_given(const cli_args *args, const char *const *names, size_t n);

/* cli_is_help_flag returns 1 for "-h" and "--help". cli_is_version_flag returns 1 for "-V" and "--version". */
int cli_is_help_flag(const char *argument);
int cli_is_version_flag(const char *argument);
int cli_print_version(void); /* prints "aoe VERSION" to stdout; returns exit code 0 */

/* Reports a usage error of a command ("aoe: COMMAND: ... (see aoe COMMAND --help)") and returns 2. */
int cli_usage(const char *command, const char *fmt, ...);
