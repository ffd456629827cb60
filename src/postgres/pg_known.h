/* SPDX-License-Identifier: MIT
 * The passages that a table contains: their ids and hashes, which a writer compares with those of the index, and which
 * of them the writer has seen. Rows with other ids than those of aoe belong to another program and are ignored.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "postgres/pg_table.h"

enum { AOEI_PG_ID_BYTES = 12 /* hexadecimal digits of an id */ };

typedef struct aoei_pg_row_state {
    uint64_t id;   /* number of the hexadecimal digits */
    uint64_t hash; /* column hash */
    int is_seen;   /* 1: the index contains the passage */
} aoei_pg_row_state;

/* The rows, in ascending order of ids. A zeroed struct is empty. */
typedef struct aoei_pg_known {
    aoei_pg_row_state *row; /* [n], owned */
    size_t n, capacity;
} aoei_pg_known;

/* Parses an id. Returns 0 if it has another form. */
int aoei_pg_id_parse(const char *id, size_t len, uint64_t *number);
void aoei_pg_id_format(uint64_t number, char id[AOEI_PG_ID_BYTES + 1]);

/* Reads the rows of a table. The caller calls aoei_pg_known_free, also after a failure. */
int aoei_pg_known_read(aoei_pg_known *known, const aoei_pg *s, const aoei_pg_table *t, aoe_error *err);
void aoei_pg_known_free(aoei_pg_known *known);
/* Returns the row with an id, or NULL. */
aoei_pg_row_state *aoei_pg_known_find(const aoei_pg_known *known, uint64_t id);
