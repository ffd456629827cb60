/* SPDX-License-Identifier: MIT
 * Prints the text of `aoe COMMAND --help` from the tables that describe the command. Call it before the arguments are
 * parsed, because the values of the targets are printed as defaults.
 */
#ifndef AOE_CLI_COMMON_HELP_H
#define AOE_CLI_COMMON_HELP_H

#include "cli/common/syntax.h"

int cli_help(const cli_syntax *s); /* prints to stdout; returns 0 */

#endif
