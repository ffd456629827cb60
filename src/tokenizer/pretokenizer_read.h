/* SPDX-License-Identifier: MIT
 * Builds pre-tokenizers from tokenizer files.
 */
#ifndef AOEI_TOKENIZER_PRETOKENIZER_READ_H
#define AOEI_TOKENIZER_PRETOKENIZER_READ_H

#include <jansson.h>

#include "aoe.h"
#include "tokenizer/pretokenizer.h"

/* Reads the "pre_tokenizer" section of tokenizer.json into a zeroed pre-tokenizer. A NULL or JSON null section gives no
 * steps. Errors: AOE_ENOMEM; AOE_EFORMAT; AOE_EUNSUPPORTED for unknown types, which the message names. */
int aoei_pretokenizer_read(aoei_pretokenizer *p, const json_t *section, const char *file, aoe_error *err);
/* Appends BertPreTokenizer. */
int aoei_pretokenizer_add_bert(aoei_pretokenizer *p, aoe_error *err);
/* Appends the pre-tokenizer Split with a regular expression and the behavior Isolated. */
int aoei_pretokenizer_add_regex(aoei_pretokenizer *p, const char *expression, aoe_error *err);
/* Appends ByteLevel. If use_regex is 1, it splits with GPT-2's regular expression. */
int aoei_pretokenizer_add_byte_level(aoei_pretokenizer *p, int add_prefix_space, int use_regex, aoe_error *err);
void aoei_pretokenizer_free(aoei_pretokenizer *p); /* accepts a zeroed struct */

#endif
