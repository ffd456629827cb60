/* SPDX-License-Identifier: MIT
 * Encodes texts as chat messages: a text is rendered with the chat template of the tokenizer, and the result is encoded
 * without special tokens, as sentence-transformers does for models whose modality_config contains "message".
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "aoe_tokenizer.h"

/* The tokens of the template before and after the texts, one entry per prompt. Several threads may use it. */
typedef struct aoei_chat_ends aoei_chat_ends;

void aoei_chat_ends_free(aoei_chat_ends *c);

/* Parses the chat template of the tokenizer, so that options.chat_template can be used. settings: object with the keys
 * "format" ("flat": the content of a message is a string; "structured": it is a list of parts; "auto" or missing: the
 * template decides) and "options" (arguments of apply_chat_template; may be missing). pairs: 1: the template must print
 * both texts of a pair. dir: directory of the tokenizer, for messages. If the tokenizer already has a parsed template,
 * it is replaced. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED (names the construct of the template), AOE_ENOMEM. */
int aoei_tokenizer_use_chat(aoe_tokenizer *t, const json_t *settings, int pairs, const char *dir, aoe_error *err);
/* Encodes a text or, if `second` is not NULL, a text pair, as aoe_tokenizer_encode does with options.chat_template. If
 * `before` is not NULL, sets *before and *after to the number of ids of the template before and after the text. Errors:
 * see aoe_tokenizer_encode; AOE_EUNSUPPORTED (names the construct of the template). */
int aoei_chat_encode(const aoe_tokenizer *t, aoe_text text, const aoe_text *second, const aoe_encode_options *o,
                     aoe_ids *ids, size_t *before, size_t *after, aoe_error *err);
