/* SPDX-License-Identifier: MIT
 * The BertPreTokenizer of Hugging Face tokenizers.
 */
#ifndef AOEI_TOKENIZER_WORDS_BERT_H
#define AOEI_TOKENIZER_WORDS_BERT_H

#include <stddef.h>

#include "tokenizer/words.h"

/* BertPreTokenizer: finds up to AOEI_WORDS words at or after *pos in s (valid UTF-8) and moves *pos after them. Sets n,
 * start and end. Returns the number of words; 0: no more. */
size_t aoei_words_bert(const char *s, size_t len, size_t *pos, aoei_words *words);

#endif
