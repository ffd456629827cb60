/* SPDX-License-Identifier: MIT
 * Special tokens of tokenizer classes. Some tokenizer classes of the library transformers (version 5) build the
 * template of special tokens and the unknown token from the named special tokens in tokenizer_config.json (or from
 * their defaults), and not from tokenizer.json. docs/tokenizers.md lists these classes.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "aoe_tokenizer.h"
#include "tokenizer/added_tokens.h"

/* The keys of the named special tokens, in the order in which transformers adds them. */
enum { AOEI_CLASS_TOKENS = 7 };
extern const char *const aoei_class_token_keys[AOEI_CLASS_TOKENS];

/* Sets the settings of the section "model" of `root`, the parsed tokenizer.json, that the class in `config`, the parsed
 * tokenizer_config.json, determines. file: path of tokenizer_config.json for messages. Errors: AOE_EFORMAT,
 * AOE_EUNSUPPORTED, AOE_ENOMEM. */
int aoei_class_tokens_set_model(json_t *root, const json_t *config, const char *file, aoe_error *err);
/* Returns 1 if the table contains the class in `config`, the parsed tokenizer_config.json. */
int aoei_class_tokens_known(const json_t *config);
/* Returns the default of the special token with the index `which` in aoei_class_token_keys: its value if `config` does
 * not contain its key. The string is static. Returns NULL if the class has no default. */
const char *aoei_class_tokens_default(const json_t *config, size_t which);
/* Returns the flags that the class in `config` gives to this special token if its value is a string. */
aoei_added_flags aoei_class_tokens_flags(const json_t *config, size_t which);
/* Replaces the template of `t`, and the unknown token of a Unigram model, by those of the class in `config`. root: the
 * parsed tokenizer.json. Must be called after the added tokens have been read. If the special tokens of the template
 * are the defaults of the class and are not in the vocabulary, the template is unchanged. Errors: as above. */
int aoei_class_tokens_finish(aoe_tokenizer *t, const json_t *root, const json_t *config, const char *file,
                             aoe_error *err);
