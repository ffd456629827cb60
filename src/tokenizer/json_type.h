/* SPDX-License-Identifier: MIT
 * Reads the "type" of a component of tokenizer.json.
 */
#pragma once

#include <jansson.h>

#include "aoe.h"

/* Sets *type to the "type" string, which section owns. `what` names the component in messages. Errors: AOE_EFORMAT if
 * `section` is not an object or has no "type". */
int aoei_json_type(const char **type, const json_t *section, const char *what, const char *file, aoe_error *err);
