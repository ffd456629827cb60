/* SPDX-License-Identifier: MIT
 * The passages that a table contains: their documents, positions and hashes, which a writer compares with those of the
 * index, and which of them the writer has seen. Rows with other ids than those of aoe belong to another program and are
 * ignored.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/text_store.h"
#include "postgres/pg_table.h"

enum { AOEI_PG_ID_BYTES = 12 /* hexadecimal digits of an id */ };

typedef struct aoei_pg_row_state {
    int64_t number;   /* primary key of the row */
    const char *name; /* of the document; owned by the list */
    uint64_t hash;    /* column hash */
    int position;     /* of the passage in the document, counted from 0 */
    int is_seen;      /* 1: the index contains the passage */
} aoei_pg_row_state;

/* The rows, in the order of the names (by their bytes) and positions. A zeroed struct is empty. */
typedef struct aoei_pg_known {
    aoei_pg_row_state *row; /* [n], owned */
    size_t n, capacity;
    aoei_chunks names;
} aoei_pg_known;

/* Returns 1 if a text has the form of an id. */
int aoei_pg_is_id(const char *id, size_t len);

/* Reads the rows of a table. The caller calls aoei_pg_known_free, also after a failure. */
int aoei_pg_known_read(aoei_pg_known *known, const aoei_pg *s, const aoei_pg_table *t, aoe_error *err);
void aoei_pg_known_free(aoei_pg_known *known);
/* Returns the row of a passage, or NULL. */
aoei_pg_row_state *aoei_pg_known_find(const aoei_pg_known *known, const char *name, size_t position);
