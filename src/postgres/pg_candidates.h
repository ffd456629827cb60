/* SPDX-License-Identifier: MIT
 * A table of passages that is open for searching, and the lists of passages that its two halves find: by meaning
 * (pg_dense.h) and by words (pg_lexical.h). All statements of a search run in one transaction.
 */
#pragma once

#include "aoe_index.h"
#include "base/text_store.h"
#include "index/schema.h"
#include "index/where.h"
#include "postgres/pg_lexemes.h"
#include "postgres/pg_known.h"
#include "postgres/pg_table.h"

/* A passage that was found. */
typedef struct aoei_pg_candidate {
    int64_t number; /* primary key of its row */
    char id[AOEI_PG_ID_BYTES + 1];
    const char *name; /* of the document; owned by the list */
    int64_t position; /* of the passage in the document */
    double score;
    size_t words; /* see aoei_ranked */
} aoei_pg_candidate;

/* A zeroed struct is empty. */
typedef struct aoei_pg_candidates {
    aoei_pg_candidate *item; /* [n], owned */
    size_t n, capacity;
    aoei_chunks names;
} aoei_pg_candidates;

/* What both halves of a search need; all pointers are borrowed. */
typedef struct aoei_pg_search {
    const aoei_pg *pg;
    const aoei_pg_table *table;
    const aoei_index_settings *settings;
    const aoei_where *where; /* condition, or NULL */
    size_t k;                /* number of passages to find */
} aoei_pg_search;

/* Appends the rows of a result to the list, and frees the result. */
int aoei_pg_candidates_read(aoei_pg_candidates *list, aoei_pq_result *r, aoe_error *err);
void aoei_pg_candidates_free(aoei_pg_candidates *list);
