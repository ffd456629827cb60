/* SPDX-License-Identifier: MIT
 * Search by meaning on a server: the passages whose vectors have the smallest cosine distance from the vector of the
 * query. pgvector applies conditions after its index has chosen the nearest vectors, so that few or none of them would
 * remain. A search with a condition therefore computes all distances.
 */
#pragma once

#include "postgres/pg_candidates.h"

enum {
    AOEI_PG_EF_LEAST = 200, /* least number of vectors that HNSW keeps during a search (hnsw.ef_search) */
    AOEI_PG_EF_MOST = 1000  /* largest possible number; a search for more passages computes all distances */
};

/* Finds the q->k nearest passages. vector: [q->settings->dims]. A transaction is open. */
int aoei_pg_dense(const aoei_pg_search *q, const float *vector, aoei_pg_candidates *list, aoe_error *err);
/* Returns 1 if the search can use the HNSW index. */
int aoei_pg_dense_uses_index(const aoei_pg_search *q);
