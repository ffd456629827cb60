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
#include "base/query_words.h"

typedef struct cli_snippet {
    size_t width;  /* number of columns after which lines are wrapped, including the indentation; 0: never */
    size_t rows;   /* maximum number of rows; 0: the whole text */
    size_t indent; /* number of spaces before each row */
    int highlight; /* 1: the words of the query are printed in bold red */
    const aoei_query_words *terms; /* words of the query; NULL: none */
    const char *heading;           /* headings that are shown with the snippet, "A > B"; NULL: none */
} cli_snippet;

/* Like aoei_query_words_create; ends the program if memory runs out. */
void cli_query_words(aoei_query_words *w, const aoe_index_hits *found, aoe_text query);
/* Appends each word of the query, after a space, of which no part was searched: words that are too common or that do
 * not occur. */
void cli_append_unused_words(aoei_buffer *b, const aoei_query_words *t, aoe_text query);

/* Appends the rows of a text, each with a line end. If the number of rows is limited, rows without letters and digits
 * are omitted. */
void cli_append_snippet(aoei_buffer *b, aoe_text text, const cli_snippet *o);
