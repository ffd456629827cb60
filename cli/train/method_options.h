/* SPDX-License-Identifier: MIT
 * Determines which options a training method rejects, because they have no effect with it. `aoe train --method NAME
 * --help` does not list these options.
 */
#ifndef AOE_CLI_TRAIN_METHOD_OPTIONS_H
#define AOE_CLI_TRAIN_METHOD_OPTIONS_H

#include "aoe_train.h"
#include "cli/common/options.h"

enum { CLI_METHOD_OPTIONS = 34 /* number of options that only some methods use */ };

/* Sets names to the names of the options that the method rejects, NULL-terminated. The names are static strings. */
void cli_method_rejected(const char *names[CLI_METHOD_OPTIONS + 1], aoe_method method);
/* Returns the name of an option that was given but that the method rejects, or NULL if there is none. */
const char *cli_method_first_rejected(aoe_method method, const cli_args *args);

#endif
