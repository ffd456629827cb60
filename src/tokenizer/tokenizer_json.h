/* SPDX-License-Identifier: MIT
 * Reads tokenizers from tokenizer.json.
 */
#ifndef AOEI_TOKENIZER_TOKENIZER_JSON_H
#define AOEI_TOKENIZER_TOKENIZER_JSON_H

#include <stddef.h>

#include "aoe.h"

/* Reads data[len], the contents of tokenizer.json, into a tokenizer that is zeroed except for t->file. If t->file contains
 * tokenizer_config.json, its settings are applied (tokenizer_config.h); config_path names this file in messages. After an
 * error, the caller must pass the tokenizer to aoe_tokenizer_close. `path` names the file in messages. */
int aoei_tokenizer_read_json(aoe_tokenizer *t, const char *data, size_t len, const char *path, const char *config_path,
                             aoe_error *err);

#endif
