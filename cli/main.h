/* SPDX-License-Identifier: MIT
 * The tree of all commands.
 */
#ifndef AOE_CLI_MAIN_H
#define AOE_CLI_MAIN_H

#include "cli/common/dispatch.h"

extern const cli_command cli_program;

#endif
