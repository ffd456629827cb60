/* SPDX-License-Identifier: MIT
 * The tables of an index on a server: TABLE with one row per passage, and TABLE_settings. docs/postgres.md documents
 * the columns. The names of tables are checked and quoted, and the types and operators of pgvector are written with the
 * schema of the extension, so that the setting search_path of the server does not matter.
 */
#pragma once

#include <stdint.h>

#include "aoe.h"
#include "index/schema.h"
#include "postgres/pg_session.h"

#define AOEI_PG_TABLE "aoe_passages" /* default name */

enum {
    AOEI_PG_NAME_BYTES = 48,       /* maximum length of the names of a schema and a table */
    AOEI_PG_VECTOR_DIMS = 16000,   /* maximum dims of a column of type vector */
    AOEI_PG_HNSW_DIMS = 2000,      /* maximum dims of an HNSW index on type vector */
    AOEI_PG_HALF_HNSW_DIMS = 4000, /* maximum dims of an HNSW index on type halfvec */
    AOEI_PG_HNSW_VERSION = 500,    /* first version of pgvector with HNSW: 0.5.0 */
    AOEI_PG_HALF_VERSION = 700     /* first version of pgvector with halfvec: 0.7.0 */
};

/* Which index of vectors a server can have. */
typedef enum aoei_pg_vector_index {
    AOEI_PG_NO_INDEX,    /* every search scans all vectors */
    AOEI_PG_HNSW,        /* HNSW on the vectors */
    AOEI_PG_HNSW_HALVES, /* HNSW on the vectors, rounded to 16 bits per component */
} aoei_pg_vector_index;

/* The names of the objects of a table, quoted for SQL. Short enough for identifiers of 63 bytes. */
typedef struct aoei_pg_table {
    char plain[2 * AOEI_PG_NAME_BYTES + 2]; /* name as given, for messages */
    char name[128];                         /* table of passages */
    char settings[128];                     /* table of settings */
    char stem[AOEI_PG_NAME_BYTES + 1];      /* name without schema, for the names of indexes */
    char vector[160];                       /* schema of pgvector; set by aoei_pg_find_vector */
    int version;                            /* version of pgvector: 10000 major + 100 minor + patch */
} aoei_pg_table;

/* State of a table. */
typedef struct aoei_pg_state {
    int64_t passages; /* number of passages after the last complete write */
    int64_t words;    /* sum of their words */
    int is_complete;  /* 0: a write has begun and did not end */
} aoei_pg_state;

/* Checks the name TABLE or SCHEMA.TABLE (NULL: AOEI_PG_TABLE) and fills *t. Errors: AOE_EARG. */
int aoei_pg_table_name(aoei_pg_table *t, const char *name, aoe_error *err);
/* Finds pgvector in the database. create: 1: creates the extension if it is only installed. Errors: AOE_EUNSUPPORTED
 * (pgvector is not installed or not created; the message says how to do it). */
int aoei_pg_find_vector(const aoei_pg *s, aoei_pg_table *t, int create, aoe_error *err);
aoei_pg_vector_index aoei_pg_vector_index_of(const aoei_pg_table *t, size_t dims);

/* Sets *exists to 1 if the tables exist. */
int aoei_pg_table_exists(const aoei_pg *s, const aoei_pg_table *t, int *exists, aoe_error *err);
/* Creates the tables, with the settings of the index. */
int aoei_pg_table_create(const aoei_pg *s, const aoei_pg_table *t, const aoei_index_settings *settings, aoe_error *err);
int aoei_pg_table_drop(const aoei_pg *s, const aoei_pg_table *t, aoe_error *err);
/* Reads the settings that the table was created with. The caller calls aoei_index_settings_free, also after a failure.
 * Errors: AOE_EFORMAT (not a table of aoe), AOE_EUNSUPPORTED (layout of another version). */
int aoei_pg_settings_read(const aoei_pg *s, const aoei_pg_table *t, aoei_index_settings *settings, aoe_error *err);
int aoei_pg_state_read(const aoei_pg *s, const aoei_pg_table *t, aoei_pg_state *state, aoe_error *err);
/* Counts the passages and words of the table, which takes longer. */
int aoei_pg_state_count(const aoei_pg *s, const aoei_pg_table *t, aoei_pg_state *state, aoe_error *err);
/* Marks the table as being written. */
int aoei_pg_state_begin(const aoei_pg *s, const aoei_pg_table *t, aoe_error *err);
/* Counts the passages and words, and marks the table as complete. */
int aoei_pg_state_end(const aoei_pg *s, const aoei_pg_table *t, aoe_error *err);
