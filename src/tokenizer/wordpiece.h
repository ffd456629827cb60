/* SPDX-License-Identifier: MIT
 * The WordPiece model. A word is split from left to right into the longest matching pieces of the vocabulary. A word
 * that cannot be split completely becomes one unknown token.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "tokenizer/token_list.h"
#include "tokenizer/vocab.h"
#include "tokenizer/word_table.h"
#include "tokenizer/words.h"

typedef struct aoei_piece_trie aoei_piece_trie;

typedef struct aoei_wordpiece {
    aoei_vocab vocab;      /* vocabulary; owned */
    aoei_word_table words; /* hash table of the vocabulary's short tokens; owned */
    int32_t unk;           /* id of the unknown token; -1: no unknown token, so encoding an unknown word fails */
    char *prefix;          /* [prefix_len] prefix of continuation pieces ("##"), owned */
    size_t prefix_len;
    int no_continuation;     /* 1: no piece starts with the prefix, so only whole words match */
    aoei_piece_trie *pieces; /* trie that splits words; it is built when the first word is split; owned */
    size_t max_chars;        /* maximum number of characters of a word; a longer word becomes the unknown token */
} aoei_wordpiece;

/* Completes the model. Must be called after the vocabulary has been filled. unk[unk_len] is the unknown token.
 * prefix[prefix_len] is the prefix of continuation pieces. Errors: AOE_ENOMEM. */
int aoei_wordpiece_finish(aoei_wordpiece *w, const char *unk, size_t unk_len, const char *prefix, size_t prefix_len,
                          size_t max_chars, aoe_error *err);
/* Reads a "model" section of tokenizer.json whose type is WordPiece. */
int aoei_wordpiece_read(aoei_wordpiece *w, const json_t *section, const char *file, aoe_error *err);
/* Appends the tokens of the words of s to `out` and stops as soon as `out` has at least `stop` tokens.
 * AOEI_WORD_TABLE_READ bytes must be readable at the start of each word. Errors: AOE_ENOMEM; AOE_EFORMAT if a word is
 * unknown and the model has no unknown token. */
int aoei_wordpiece_encode(const aoei_wordpiece *w, const char *s, const aoei_words *words, size_t stop,
                          aoei_token_list *out, aoe_error *err);
/* Returns the length in bytes of the prefix of continuation pieces if the token begins with it, otherwise 0. */
size_t aoei_wordpiece_prefix(const aoei_wordpiece *w, aoe_text token);
/* Returns 1 if the token begins with the prefix of continuation pieces. */
int aoei_wordpiece_is_continuation(const aoei_wordpiece *w, aoe_text token);
void aoei_wordpiece_free(aoei_wordpiece *w);
