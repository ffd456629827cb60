/* SPDX-License-Identifier: MIT
 * Prints the text of `aoe COMMAND --help`, which is generated from the option tables of the command. The current values
 * of the options are printed as their defaults, so no argument may have been parsed before.
 */
#pragma once

#include "cli/common/syntax.h"

int cli_help(const cli_syntax *s); /* prints to stdout; returns 0 */
/* Prints an indented name and its description, which is wrapped like the description of an option. For
 * cli_syntax.more. */
void cli_help_entry(const char *name, const char *text);

/* Writes the default of an option to out[size]. The default is the text o->fallback; if o->fallback is NULL or a value
 * is set, it is the current value of *target. Writes "" if the option has no default. */
void cli_default_text(char *out, size_t size, const aoei_option *o, const void *target);
