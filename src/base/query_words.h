/* SPDX-License-Identifier: MIT
 * The words of a query that a search has used, and their places in a text, for snippets and highlighting. Only the
 * words that aoe_index_search reports are searched as they are, and by their stems in an index with stems. The
 * beginnings of long words of the query are searched, too: they rank the rows of a snippet, but are not highlighted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe_index.h"

enum { AOEI_QUERY_WORDS = 64 }; /* maximum number of words and beginnings; the time of a search is proportional to it */

/* Words without case and diacritics. A zeroed struct contains no words. */
typedef struct aoei_query_words {
    uint32_t *point;  /* code points of all words, owned */
    size_t *end;      /* [n] end of each word in `point`, owned */
    size_t n;         /* number of words and beginnings */
    size_t n_words;   /* the first words are searched as they are; the others are beginnings of words */
    uint32_t *stem;   /* code points of the stems of the first words, owned; NULL: stems are not searched */
    size_t *stem_end; /* [n_words] end of each stem in `stem`, owned; an empty stem is not searched */
} aoei_query_words;

/* A word of the query in a text: text[start] to text[end - 1]. */
typedef struct aoei_word_match {
    size_t start, end;
    size_t term; /* index of the word; less than n_words: a word, otherwise a beginning */
} aoei_word_match;

/* Sets *w to the first words of found->term, and to the beginnings of long words of the query. The caller calls
 * aoei_query_words_free, also after a failure. Errors: AOE_ENOMEM. */
int aoei_query_words_create(aoei_query_words *w, const aoe_index_hits *found, aoe_text query, aoe_error *err);
void aoei_query_words_free(aoei_query_words *w); /* accepts a zeroed struct */
/* Sets match[n] to all matches in a text, in their order and without overlaps. The caller frees *match with aoei_free.
 * Errors: AOE_ENOMEM. */
int aoei_query_words_find(const aoei_query_words *w, aoe_text text, aoei_word_match **match, size_t *n, aoe_error *err);
/* Returns the end of the word `term` if the text contains it at `at`, which must be a word boundary; otherwise 0. Stems
 * are not compared. */
size_t aoei_query_words_match(const aoei_query_words *w, aoe_text text, size_t at, size_t term);

/* Decodes the character at text.data[at]; an invalid byte is the character U+FFFD. Returns its length in bytes. */
size_t aoei_word_decode(aoe_text text, size_t at, uint32_t *c);
int aoei_is_word_char(uint32_t c); /* 1: a letter, a mark or a digit */
/* Returns 1 if a word can end before the character `after` and start with it. */
int aoei_is_word_boundary(uint32_t before, uint32_t after);
