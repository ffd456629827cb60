/* SPDX-License-Identifier: MIT
 * The "type" of a component of tokenizer.json.
 */
#ifndef AOEI_TOKENIZER_JSON_TYPE_H
#define AOEI_TOKENIZER_JSON_TYPE_H

#include <jansson.h>

#include "aoe.h"

/* *type points into section. AOE_EFORMAT when section is no object or has no type; `what` names the component. */
int aoei_json_type(const char **type, const json_t *section, const char *what, const char *file, aoe_error *err);

#endif
