/* SPDX-License-Identifier: MIT
 * Implements the BertPreTokenizer of Hugging Face tokenizers.
 */
#pragma once

#include <stddef.h>

#include "tokenizer/words.h"

/* Finds up to AOEI_WORDS words of s[*pos, len), which must be valid UTF-8. Sets words->n, words->start and words->end,
 * and sets *pos to the end of the processed text. Returns the number of words; 0 means that there are no more words. */
size_t aoei_words_bert(const char *s, size_t len, size_t *pos, aoei_words *words);
