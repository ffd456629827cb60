/* SPDX-License-Identifier: MIT
 * Builds pre-tokenizers from tokenizer files.
 */
#pragma once

#include <jansson.h>

#include "aoe.h"
#include "tokenizer/pretokenizer.h"

/* Reads the "pre_tokenizer" section of tokenizer.json into a zeroed pre-tokenizer. If `section` is NULL or JSON null,
 * the pre-tokenizer has no steps. Errors: AOE_ENOMEM; AOE_EFORMAT; AOE_EUNSUPPORTED for unknown types, which the
 * message names. */
int aoei_pretokenizer_read(aoei_pretokenizer *p, const json_t *section, const char *file, aoe_error *err);
/* Appends the pre-tokenizer BertPreTokenizer. */
int aoei_pretokenizer_add_bert(aoei_pretokenizer *p, aoe_error *err);
/* Appends the pre-tokenizer Split with a regular expression and the behavior Isolated. */
int aoei_pretokenizer_add_regex(aoei_pretokenizer *p, const char *expression, aoe_error *err);
/* Appends the pre-tokenizer ByteLevel. If use_regex is 1, text is split with GPT-2's regular expression. */
int aoei_pretokenizer_add_byte_level(aoei_pretokenizer *p, int add_prefix_space, int use_regex, aoe_error *err);
void aoei_pretokenizer_free(aoei_pretokenizer *p); /* accepts a zeroed struct */
