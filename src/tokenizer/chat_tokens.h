/* SPDX-License-Identifier: MIT
 * The special tokens that a chat template can print, such as bos_token.
 */
#pragma once

#include <jansson.h>

#include "aoe.h"

/* Sets *tokens to an object of the named special tokens of a tokenizer: its keys are those of aoei_class_token_keys,
 * its values are strings. The caller releases the object. template: chat template. config, map: contents of
 * tokenizer_config.json and of special_tokens_map.json; their data may be NULL. dir: directory of the files, for
 * messages. Errors: AOE_EUNSUPPORTED (the template prints a token that depends on the defaults of an unknown class),
 * AOE_ENOMEM. */
int aoei_chat_tokens_read(json_t **tokens, const char *template, aoe_text config, aoe_text map, const char *dir,
                          aoe_error *err);
