/* SPDX-License-Identifier: MIT
 * Finds keys of tokenizer.json that are on no list of base/json_keys.h.
 */
#pragma once

#include <jansson.h>

#include "base/json_keys.h"

/* Adds the unknown keys of `root`, the contents of tokenizer.json, to *unknown. Values of other types than expected are
 * ignored; the functions that read them reject them. */
void aoei_tokenizer_keys_collect(aoei_unknown_keys *unknown, const json_t *root);
