/* SPDX-License-Identifier: MIT
 * The text of `aoe COMMAND --help`, made from the tables the command is parsed
 * with. Has to be called before the targets change: it shows them as defaults.
 */
#ifndef AOE_CLI_COMMON_HELP_H
#define AOE_CLI_COMMON_HELP_H

#include "cli/common/options.h"

int cli_help(const cli_syntax *s); /* to stdout; returns 0 */

#endif
