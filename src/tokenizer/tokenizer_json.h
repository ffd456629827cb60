/* SPDX-License-Identifier: MIT
 * Reads tokenizers from tokenizer.json.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "aoe_tokenizer.h"

/* The names of the files in messages: tokenizer.json, tokenizer_config.json, special_tokens_map.json and
 * added_tokens.json. */
typedef struct aoei_json_paths {
    const char *json, *config, *special_map, *added_tokens;
} aoei_json_paths;

/* Reads data[len], the contents of tokenizer.json, into a tokenizer that is zeroed except for t->file. If t->file
 * contains the other files, their settings are applied (tokenizer_config.h). model: the parsed config.json, which
 * determines the class of the tokenizer (tokenizer_class.h); NULL if the directory does not contain a model. After an
 * error, the caller must pass the tokenizer to aoe_tokenizer_close. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED,
 * AOE_ENOMEM. */
int aoei_tokenizer_read_json(aoe_tokenizer *t, const char *data, size_t len, const json_t *model,
                             const aoei_json_paths *paths, aoe_error *err);
