/* SPDX-License-Identifier: MIT
 * Building pre-tokenizers from tokenizer files.
 */
#ifndef AOEI_TOKENIZER_PRETOKENIZER_READ_H
#define AOEI_TOKENIZER_PRETOKENIZER_READ_H

#include <jansson.h>

#include "aoe.h"
#include "tokenizer/pretokenizer.h"

/* The "pre_tokenizer" section of tokenizer.json, NULL or null for none, into a zeroed one. AOE_EUNSUPPORTED names the type. */
int aoei_pretokenizer_read(aoei_pretokenizer *p, const json_t *section, const char *file, aoe_error *err);
int aoei_pretokenizer_add_bert(aoei_pretokenizer *p, aoe_error *err);
/* Split at an expression, Isolated. */
int aoei_pretokenizer_add_regex(aoei_pretokenizer *p, const char *expression, aoe_error *err);
/* ByteLevel; use_regex: cut as GPT-2 does. */
int aoei_pretokenizer_add_byte_level(aoei_pretokenizer *p, int add_prefix_space, int use_regex, aoe_error *err);
void aoei_pretokenizer_free(aoei_pretokenizer *p); /* accepts a zeroed one */

#endif
