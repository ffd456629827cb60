/* SPDX-License-Identifier: MIT
 * Converts words to the lexemes of PostgreSQL's full-text search with the tokenizer of the local word index (SQLite
 * FTS5, unicode61), so that the same queries find the same passages. The text search configuration of the server is not
 * used, and nothing that a user types becomes query syntax: a lexeme is quoted and sent as a parameter.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"

enum {
    AOEI_PG_LEXEME_BYTES = 900000, /* lexemes of a passage; a tsvector has less than 1 MiB. Further words are left out
                                    */
    AOEI_PG_POSITION_MAX = 16383,  /* largest position of a word; later words have this position */
    AOEI_PG_POSITIONS = 255        /* positions of a lexeme; further ones are left out */
};

typedef struct aoei_pg_lexer aoei_pg_lexer;

/* stem: 1: words are reduced to English stems (porter). The caller calls aoei_pg_lexer_free. */
int aoei_pg_lexer_create(aoei_pg_lexer **lexer, int stem, aoe_error *err);
void aoei_pg_lexer_free(aoei_pg_lexer *lexer); /* accepts NULL */

/* Appends a value of type tsvector in binary format to `out`, with the words of the text (aoei_words_text) and their
 * positions. *words: number of words. */
int aoei_pg_tsvector(aoei_pg_lexer *lexer, aoe_text text, aoei_buffer *out, size_t *words, aoe_error *err);
/* Appends a value of type tsquery in text format to `out`: the lexemes of one word of a query, which follow each other.
 * is_prefix: finds all lexemes that begin with the last one. *lexemes: their number; 0: nothing is appended. */
int aoei_pg_tsquery(aoei_pg_lexer *lexer, aoe_text word, int is_prefix, aoei_buffer *out, size_t *lexemes,
                    aoe_error *err);
