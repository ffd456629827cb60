/* SPDX-License-Identifier: MIT
 * Suggestions for unknown options.
 */
#pragma once

#include <stddef.h>

/* Returns the option in names[n] that the unknown option `typed` probably means, or NULL. It is an option that has the
 * name `typed` in another program, an option with a similar name, or the only option with the same first word. Names
 * are without the two dashes. */
const char *cli_suggest_option(const char *typed, const char *const *names, size_t n);

/* Returns why aoe has no such option, if other programs have the option `typed` and aoe has no counterpart; otherwise
 * NULL. */
const char *cli_foreign_option(const char *typed);
