/* SPDX-License-Identifier: MIT
 * Determines whether the library transformers passes the token types of a text pair to the model. In version 5, its
 * tokenizers pass them only if the list "model_input_names" contains "token_type_ids"; without the list in
 * tokenizer_config.json, the class of the tokenizer determines it.
 */
#pragma once

#include <jansson.h>

#include "aoe_tokenizer.h"

/* Reads "model_input_names" and, if this key is missing, "tokenizer_class" from `config`, the parsed
 * tokenizer_config.json, which may be NULL. Sets *types to 1 if token types are passed to the model and to 0 if they
 * are not, or to AOE_AUTO if `config` contains neither key. file: path of tokenizer_config.json for messages. Errors:
 * AOE_EFORMAT. */
int aoei_input_names_read(int *types, const json_t *config, const char *file, aoe_error *err);
/* Returns 1 if token types of pairs are passed to the model, and 0 otherwise. If the files of `t` do not determine it,
 * "tokenizer_class" or "model_type" of `model`, the parsed config.json, does; `model` may be NULL. */
int aoei_tokenizer_passes_types(const aoe_tokenizer *t, const json_t *model);
