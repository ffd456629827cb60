/* SPDX-License-Identifier: MIT
 * The tokenizer WhitespaceTokenizer of sentence-transformers, which models of word embeddings use. A text is split at
 * whitespace. A word is searched for in the vocabulary as it is, then without the ASCII punctuation at its ends, then
 * also in lower case. Words that are not found, and stop words, have no token.
 */
#pragma once

#include "aoe.h"
#include "tokenizer/token_list.h"
#include "tokenizer/vocab.h"

/* The tokenizer. A zeroed struct has no words. */
typedef struct aoei_word_lookup {
    aoei_vocab vocab; /* words, whose ids are their positions in the list of words; owned */
    aoei_vocab stop;  /* stop words; owned */
    int32_t empty;    /* id of the empty word, which words of punctuation get; -1: the vocabulary does not contain it */
    int lowercase;    /* 1: the text is lowercased before it is split */
} aoei_word_lookup;

/* Reads the contents data[len] of whitespacetokenizer_config.json, which contains the list `vocab`, and optionally the
 * list `stop_words` and `do_lower_case`. file: path for messages. Errors: AOE_EFORMAT, AOE_ENOMEM. The caller frees *w,
 * even if the function fails. */
int aoei_word_lookup_read(aoei_word_lookup *w, const char *data, size_t len, const char *file, aoe_error *err);
void aoei_word_lookup_free(aoei_word_lookup *w); /* accepts a zeroed struct */
/* Appends the tokens of the text s[len] to `out`, with the byte ranges of their words, and stops as soon as `out` has
 * at least `stop` tokens. lowercase: 1: the text is lowercased in any case. Errors: AOE_ENOMEM. */
int aoei_word_lookup_encode(const aoei_word_lookup *w, const char *s, size_t len, int lowercase, size_t stop,
                            aoei_token_list *out, aoe_error *err);
