/* SPDX-License-Identifier: MIT
 * The tables of an index, and the settings in its table `meta`.
 *
 *     meta(key, value)        settings, and the state of the last commit: commits, generation, rows, live, dead (a
 *                             bitmap of the rows that belong to no document), updated ...
 *     sources(id, path, kind, text_column, id_column, excludes)
 *     files(id, source, path, size, mtime_ns, ctime_ns, inode, hash, state)      files of sources, also skipped ones
 *     documents(id, file, name, title, first_passage, first_row, n_passages, hash)
 *     passages(id, document, row, line, last_line, heading, text, hash, given)
 *     fields(document, key, value, text)      value: INTEGER or REAL if the text is a plain number (field_value.h),
 *                             otherwise TEXT; text: the original text if `value` is REAL, otherwise NULL
 *     extents(first_row, n, codes, signs, vals)     CRC-32 of the rows of each vector file
 *     words                   FTS5, contentless, rowid = passages.id, column w: aoei_words_text of heading + "\n" +
 * text vocabulary              fts5vocab of words, type row
 *
 * The passages of a document have consecutive ids from first_passage and consecutive rows from first_row. Both are NULL
 * if the document has no passages. passages.hash is the hash of heading and text, and given is 0, or
 * aoei_given_hash of the document if the caller gave the vector. passages.row is first_row + id - first_passage.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe_index.h"
#include "index/sql.h"

#define AOEI_INDEX_DATABASE "index.db" /* name of the database in the directory of an index */

/* Settings of an index. They never change after its creation, except the place and the name of the model. A zeroed
 * struct owns nothing. */
typedef struct aoei_index_settings {
    uint64_t id;           /* random number, also in the vector files */
    size_t dims;           /* D */
    size_t passage_tokens; /* options.passage_tokens */
    aoe_index_store store;
    int stem;
    char *model;   /* name of the model, owned; "" if unknown */
    char *pooling; /* pooling and prompts of the model, owned */
    char *query_prompt, *document_prompt;
    float *query_probe, *document_probe; /* [D] vectors of a fixed text as query and as document, owned */
    char *place;                         /* aoei_place_identity of the directory at its creation or, if it was copied
                                            or moved, when the user gave its sources there; owned */
    char created[32];                    /* time of the creation */
} aoei_index_settings;

/* State of the last commit. */
typedef struct aoei_index_state {
    uint64_t commits;       /* number of the commit */
    uint64_t generation;    /* generation of the vector files */
    uint64_t rows;          /* rows of the vector files, with removed ones */
    uint64_t live;          /* rows that belong to documents */
    uint64_t deleted_words; /* passages removed from the word index since it was last optimized */
    char updated[32];       /* time of the commit */
} aoei_index_state;

/* Checks that the database is an index of a supported version. Sets *is_new to 1 if it is an empty database. Errors:
 * AOE_EFORMAT (a database of another program), AOE_EUNSUPPORTED (newer version). The caller has begun a transaction. */
int aoei_schema_check(aoei_db *d, int *is_new, aoe_error *err);
/* Creates the tables with these settings and the state of an empty index. The caller has begun a transaction. */
int aoei_schema_create(aoei_db *d, const aoei_index_settings *s, aoe_error *err);

/* Reads the settings. The caller calls aoei_index_settings_free, also after a failure. */
int aoei_index_settings_read(aoei_db *d, aoei_index_settings *s, aoe_error *err);
/* Replaces the place and the name of the model in the database. The caller has begun a transaction. */
int aoei_index_place_write(aoei_db *d, const char *place, const char *model, aoe_error *err);
void aoei_index_settings_free(aoei_index_settings *s);

/* Reads the state of the commit that the current transaction sees. */
int aoei_index_state_read(aoei_db *d, aoei_index_state *s, aoe_error *err);
int aoei_index_state_write(aoei_db *d, const aoei_index_state *s, aoe_error *err);

/* Read and write the bitmap of removed rows. dead: [(rows + 63) / 64], owned by the caller. */
int aoei_dead_read(aoei_db *d, uint64_t *dead, size_t rows, aoe_error *err);
int aoei_dead_write(aoei_db *d, const uint64_t *dead, size_t rows, aoe_error *err);

/* Deletes the word index and creates an empty one. */
int aoei_words_create(aoei_db *d, int stem, aoe_error *err);
/* Empties a damaged word index. FTS5 cannot delete a table whose version or structure it cannot read. */
int aoei_words_empty(aoei_db *d, aoe_error *err);
/* Writes the current time in ISO 8601, such as 2026-01-31T23:59:59Z. */
void aoei_time_now(char time[32]);
