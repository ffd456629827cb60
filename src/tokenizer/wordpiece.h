/* SPDX-License-Identifier: MIT
 * Step four of a tokenizer, the WordPiece model: the longest piece of the
 * vocabulary from the left, again and again; a word that does not come out
 * even is one unknown token.
 */
#ifndef AOEI_TOKENIZER_WORDPIECE_H
#define AOEI_TOKENIZER_WORDPIECE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "tokenizer/token_list.h"
#include "tokenizer/vocab.h"
#include "tokenizer/word_table.h"
#include "tokenizer/words.h"

typedef struct aoei_wordpiece {
    aoei_vocab vocab;      /* owned */
    aoei_word_table words; /* of its short tokens; owned */
    int32_t unk;           /* id of the unknown token, -1: the vocabulary has none and an unknown word is an error */
    uint32_t continuation; /* trie node of the prefix of non-initial pieces ("##"); the root when the prefix is empty */
    int no_continuation;   /* no piece starts with the prefix: only whole words match */
    size_t max_chars;      /* a longer word is unknown */
} aoei_wordpiece;

/* After the vocabulary is filled. AOE_ENOMEM. */
int aoei_wordpiece_finish(aoei_wordpiece *w, const char *unk, size_t unk_len, const char *prefix, size_t prefix_len,
                          size_t max_chars, aoe_error *err);
/* The "model" section of tokenizer.json, of type WordPiece. */
int aoei_wordpiece_read(aoei_wordpiece *w, const json_t *section, const char *file, aoe_error *err);
/* Appends the tokens of the words of s, one after the other, until out holds `stop` of them or more. AOEI_WORD_TABLE_READ
 * bytes can be read from where each word begins.
 * AOE_ENOMEM, AOE_EFORMAT (unknown word and no unknown token). */
int aoei_wordpiece_encode(const aoei_wordpiece *w, const char *s, const aoei_words *words, size_t stop, aoei_token_list *out,
                          aoe_error *err);
int aoei_wordpiece_is_continuation(const aoei_wordpiece *w, aoe_text token); /* 1: it begins with the prefix of pieces */
void aoei_wordpiece_free(aoei_wordpiece *w);

#endif
