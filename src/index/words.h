/* SPDX-License-Identifier: MIT
 * Prepares text for the word index (SQLite FTS5 with the tokenizer unicode61, remove_diacritics 2), which finds whole
 * words only. The same function prepares passages and queries, so that both contain the same words:
 *   - A run of Chinese or Japanese characters becomes overlapping pairs of characters, and so does a run of Korean
 *     syllables, because Korean words end with particles. A single character stays alone.
 *   - A compound is written whole and in parts, such as 1.0.21, x86-64, snake_case, camelCase, std::vector, a/b.c or
 *     C++. Path parts are also compounds: src/words.c contains src, words.c, words and c.
 *   - A word has at most AOEI_WORD_MAX characters. A longer compound is written only in parts. A longer word, such as
 *     a line of base64, is cut at this length. Only names of at most 8 parts with 3 characters on average are split at
 *     capital letters, so that random letters do not become many short words.
 * In a whole compound, a joiner such as '.' is written as a private-use character, which unicode61 accepts in words.
 * The text itself never contributes private-use characters. Bytes that are not valid UTF-8 separate words.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"

#define AOEI_WORD_MAX    64  /* characters of a word */
#define AOEI_QUERY_WORDS 128 /* words of a query; further words are ignored */

/* Appends the words of the text to `out`, each followed by a space. The case and the accents of the letters are kept;
 * unicode61 removes them. Errors: AOE_ENOMEM. */
int aoei_words_text(aoei_buffer *out, aoe_text text, aoe_error *err);

typedef struct aoei_word {
    size_t at, len; /* bytes of the word in aoei_words.text */
    int is_prefix;  /* 1: one Chinese, Japanese or Korean character, which must match all pairs that begin with it */
    int is_part;    /* 1: an earlier word contains this word, as a compound contains its parts */
} aoei_word;

/* The words of a query, in the order of the query, without repetitions (letters of both cases are equal). */
typedef struct aoei_words {
    aoei_buffer text; /* all words, each followed by a space; owned */
    aoei_word *word;  /* [n]; owned */
    size_t n, capacity;
} aoei_words;

/* Finds the words of a query. The caller zeroes *w before the first call. Errors: AOE_ENOMEM. */
int aoei_words_query(aoei_words *w, aoe_text query, aoe_error *err);
void aoei_words_free(aoei_words *w); /* accepts a zeroed struct */

/* Appends a word as the user wrote it, with its joiners, to `out`. */
void aoei_words_plain(aoei_buffer *out, const char *word, size_t len);
/* Appends the word as a quoted term of an FTS5 query to `out`. A word contains no quotes. */
void aoei_words_quote(aoei_buffer *out, const aoei_words *w, const aoei_word *word);
