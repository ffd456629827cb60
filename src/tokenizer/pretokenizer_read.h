/* SPDX-License-Identifier: MIT
 * Builds pre-tokenizers from tokenizer files.
 */
#ifndef AOEI_TOKENIZER_PRETOKENIZER_READ_H
#define AOEI_TOKENIZER_PRETOKENIZER_READ_H

#include <jansson.h>

#include "aoe.h"
#include "tokenizer/pretokenizer.h"

/* Reads the "pre_tokenizer" section of tokenizer.json into a zeroed pre-tokenizer. NULL or null: no steps. AOE_EUNSUPPORTED
 * names the type. */
int aoei_pretokenizer_read(aoei_pretokenizer *p, const json_t *section, const char *file, aoe_error *err);
int aoei_pretokenizer_add_bert(aoei_pretokenizer *p, aoe_error *err);
/* Appends Split at a regular expression with the behavior Isolated. */
int aoei_pretokenizer_add_regex(aoei_pretokenizer *p, const char *expression, aoe_error *err);
/* Appends ByteLevel. use_regex: split with GPT-2's expression. */
int aoei_pretokenizer_add_byte_level(aoei_pretokenizer *p, int add_prefix_space, int use_regex, aoe_error *err);
void aoei_pretokenizer_free(aoei_pretokenizer *p); /* accepts a zeroed one */

#endif
