/* SPDX-License-Identifier: MIT
 * Step three of a tokenizer: normalised text into words. BertPreTokenizer
 * (white space is dropped, a punctuation character is a word of its own), or
 * none (the whole piece is one word).
 */
#ifndef AOEI_TEXT_PRETOKENIZER_H
#define AOEI_TEXT_PRETOKENIZER_H

#include <jansson.h>
#include <stddef.h>

#include "aoe.h"

typedef enum aoei_pretokenizer_type { AOEI_PRETOKENIZER_NONE, AOEI_PRETOKENIZER_BERT } aoei_pretokenizer_type;

typedef struct aoei_pretokenizer {
    aoei_pretokenizer_type type;
} aoei_pretokenizer;

/* The "pre_tokenizer" section of tokenizer.json, NULL or null for none. AOE_EUNSUPPORTED names the type. */
int aoei_pretokenizer_read(aoei_pretokenizer *p, const json_t *section, const char *file, aoe_error *err);
/* Finds the next word at or after *pos in s, valid UTF-8: 1 and s[*start, *end), with *pos moved on; 0: no more. */
int aoei_pretokenizer_next(const aoei_pretokenizer *p, const char *s, size_t len, size_t *pos, size_t *start, size_t *end);

#endif
