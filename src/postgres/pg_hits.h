/* SPDX-License-Identifier: MIT
 * Reads the passages that a search found, with their metadata, into the public result struct.
 */
#pragma once

#include "index/fusion.h"
#include "postgres/pg_lexical.h"

/* A passage that was found. */
typedef struct aoei_pg_found {
    const aoei_pg_candidate *candidate; /* borrowed */
    aoei_found found;                   /* ranks and scores */
} aoei_pg_found;

/* Combines both lists to at most o->k passages. words: of the search; zeroed without a search by words. *found: [*n],
 * which the caller frees with aoei_free. */
int aoei_pg_combine(const aoe_index_search_options *o, const aoei_pg_candidates *dense,
                    const aoei_pg_candidates *lexical, const aoei_pg_words *words, aoei_pg_found **found, size_t *n,
                    aoe_error *err);
/* Fills *hits. vector: [dims] embedding of the query, for cosines of passages that only their words found; NULL: none.
 * words: NULL: there was no search by words. The caller calls aoe_index_hits_free; after a failure, *hits is empty. */
int aoei_pg_hits_load(aoe_index_hits *hits, const aoei_pg_search *q, const aoei_pg_found *found, size_t n,
                      const float *vector, const aoei_pg_words *words, aoe_error *err);
