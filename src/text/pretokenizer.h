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
/* The words found in one go, as bytes of the text. */
enum { AOEI_WORDS = 64 };
typedef struct aoei_words {
    size_t n;
    size_t start[AOEI_WORDS + 1], end[AOEI_WORDS + 1]; /* [n], end excluded; the spare one is scratch */
} aoei_words;

/* Finds the next words, up to AOEI_WORDS of them, at or after *pos in s, valid UTF-8, and moves *pos behind them.
 * Returns their number; 0: no more. */
size_t aoei_pretokenizer_next(const aoei_pretokenizer *p, const char *s, size_t len, size_t *pos, aoei_words *words);

#endif
