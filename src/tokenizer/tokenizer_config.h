/* SPDX-License-Identifier: MIT
 * Applies tokenizer_config.json to a tokenizer that is read from tokenizer.json. The tokenizer classes of the library
 * transformers (version 5) build their components from the settings in tokenizer_config.json, so where the two files
 * contradict each other, tokenizer_config.json is used. docs/tokenizers.md lists the settings of each class.
 */
#pragma once

#include <jansson.h>

#include "aoe_tokenizer.h"

/* Changes `root`, the parsed tokenizer.json, according to the class and the settings in `config`, the parsed
 * tokenizer_config.json. file: path of tokenizer_config.json for messages. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED,
 * AOE_ENOMEM.
 */
int aoei_tokenizer_config_apply(json_t *root, const json_t *config, const char *file, aoe_error *err);
/* Adds the tokens of tokenizer_config.json to t->added: those in "added_tokens_decoder", the named special tokens that
 * are in the vocabulary, and those in "additional_special_tokens" or "extra_special_tokens". Sets t->truncate_left, and
 * the template and the unknown token that the class determines (class_tokens.h). Must be called
 * after the model and the added tokens of tokenizer.json have been read. root: the parsed tokenizer.json. Errors:
 * AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_ENOMEM. */
int aoei_tokenizer_config_finish(aoe_tokenizer *t, const json_t *root, const json_t *config, const char *file,
                                 aoe_error *err);
/* Sets t->truncate_left from "truncation_side" in `config` or, if this key is missing, from the section "truncation" of
 * `root`, the parsed tokenizer.json. Both may be NULL. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED. */
int aoei_tokenizer_config_truncation(aoe_tokenizer *t, const json_t *root, const json_t *config, const char *file,
                                     aoe_error *err);
