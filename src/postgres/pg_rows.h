/* SPDX-License-Identifier: MIT
 * The rows of the table of passages, in the binary format of COPY. A value contains what the index contains, except
 * that the character NUL, which PostgreSQL does not store, becomes U+FFFD.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe_index.h"
#include "base/buffer.h"
#include "postgres/pg_lexemes.h"

/* The columns, in the order of aoei_pg_row. */
#define AOEI_PG_COLUMNS                                                                                                \
    "id, name, position, ext, line, last_line, heading, passage, metadata, hash, words, n_words, embedding"

/* A passage with its vector, borrowed. */
typedef struct aoei_pg_passage {
    const aoe_index_hit *hit;
    size_t position;     /* number of the passage in its document, counted from 0 */
    const float *vector; /* [dims] */
    size_t dims;
} aoei_pg_passage;

/* Returns a hash of everything that the row contains. */
uint64_t aoei_pg_row_hash(const aoei_pg_passage *p);
/* Append the start of the data of COPY, a row, and the end. Errors: AOE_EARG (a value is too long), AOE_ENOMEM. */
void aoei_pg_rows_begin(aoei_buffer *out);
int aoei_pg_row(aoei_buffer *out, const aoei_pg_passage *p, uint64_t hash, aoei_pg_lexer *lexer, aoe_error *err);
void aoei_pg_rows_end(aoei_buffer *out);
/* Appends metadata as a JSON object. Several values of a key become an array. */
void aoei_pg_metadata(aoei_buffer *out, const aoe_index_field *field, size_t n);
