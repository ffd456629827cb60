/* SPDX-License-Identifier: MIT
 * The BertPreTokenizer of Hugging Face tokenizers.
 */
#ifndef AOEI_TOKENIZER_WORDS_BERT_H
#define AOEI_TOKENIZER_WORDS_BERT_H

#include <stddef.h>

#include "tokenizer/words.h"

/* Finds up to AOEI_WORDS words at or after byte *pos of s (valid UTF-8) and advances *pos after them. Sets words->n, start and
 * end. Returns the number of words; 0 if there are no more. */
size_t aoei_words_bert(const char *s, size_t len, size_t *pos, aoei_words *words);

#endif
