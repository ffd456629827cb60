/* SPDX-License-Identifier: MIT
 * Prints a passage, or the rows of it that contain most words of a query. Long lines are wrapped, the words of the
 * query can be highlighted, and characters that would change a terminal are shown as escapes (cli/common/visible.h).
 *
 * A passage that was found by meaning may contain no word of the query. The rows are then those that contain words with
 * the same beginning as long words of the query ("removal", "removed"), or the first rows that say something: those
 * after headings and after the end of a sentence that begins in the passage before.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <aoe.h>
#include <aoe_index.h>

#include "base/buffer.h"

/* Words that are searched in passages, without case and diacritics. A zeroed struct contains no words. In an index with
 * stems, a word of a passage also matches if it has the stem of a word of the query. */
typedef struct cli_terms {
    uint32_t *point;  /* code points of all words, owned */
    size_t *end;      /* [n] end of each word in `point`, owned */
    size_t n;         /* number of words and beginnings */
    size_t n_words;   /* the first words are searched as they are; the others are beginnings of words */
    uint32_t *stem;   /* code points of the stems of the first words, owned; NULL: stems are not searched */
    size_t *stem_end; /* [n_words] end of each stem in `stem`, owned; an empty stem is not searched */
} cli_terms;

typedef struct cli_snippet {
    size_t width;           /* number of columns after which lines are wrapped, including the indentation; 0: never */
    size_t rows;            /* maximum number of rows; 0: the whole text */
    size_t indent;          /* number of spaces before each row */
    int highlight;          /* 1: the words of the query are printed in bold red */
    const cli_terms *terms; /* words of the query; NULL: none */
    const char *heading;    /* headings that are shown with the snippet, "A > B"; NULL: none */
} cli_snippet;

/* Sets *t to the first words of found->term, which the search has used, and to the beginnings of long words of the
 * query; their number is limited. */
void cli_terms_create(cli_terms *t, const aoe_index_hits *found, aoe_text query);
void cli_terms_free(cli_terms *t); /* accepts a zeroed struct */
/* Appends each word of the query, after a space, of which no part was searched: words that are too common or that do
 * not occur. */
void cli_append_unused_words(aoei_buffer *b, const cli_terms *t, aoe_text query);

/* Appends the rows of a text, each with a line end. If the number of rows is limited, rows without letters and digits
 * are omitted. */
void cli_append_snippet(aoei_buffer *b, aoe_text text, const cli_snippet *o);
