/* SPDX-License-Identifier: MIT
 * The tree of all commands.
 */
#pragma once

#include "cli/common/dispatch.h"

extern const cli_command cli_program;
