/* SPDX-License-Identifier: MIT
 * Writes the files of a tokenizer with a subset of its tokens (token_subset.h).
 */
#pragma once

#include "aoe_tokenizer.h"
#include "tokenizer/token_subset.h"

/* Adds the tokens to which the settings of the tokenizer refer: all added tokens, the tokens of the template, the
 * unknown token and the tokens whose ids tokenizer.json contains. dir: directory of the tokenizer for messages. Errors:
 * AOE_EFORMAT (an id is not in the vocabulary), AOE_ENOMEM. */
int aoei_subset_add_settings(aoei_token_subset *s, const char *dir, aoe_error *err);
/* Creates a tokenizer with the tokens of the subset, which contains the tokens above and has been numbered. Its files
 * are in memory; aoei_tokenizer_save writes them. Errors: AOE_EUNSUPPORTED (the files would give the tokens other ids),
 * AOE_EFORMAT, AOE_ENOMEM. */
int aoei_subset_tokenizer(aoe_tokenizer **out, const aoei_token_subset *s, const char *dir, aoe_error *err);
