/* SPDX-License-Identifier: MIT
 * Search by meaning: the passages whose embeddings have the largest dot products with those of the queries. The vectors
 * have length 1, so a dot product is a cosine.
 */
#pragma once

#include "index/ranked.h"
#include "index/reader.h"
#include "vectors/scan.h"

/* The best passages of one query. */
typedef struct aoei_dense {
    aoei_ranked *best; /* [n], owned */
    size_t n;
} aoei_dense;

/* Computes the embeddings vectors[Q, D] of queries, scaled to unit length, where D is index->settings.dims. Errors:
 * AOE_EARG (the index has no embedder), and those of aoe_embed_queries. */
int aoei_dense_embed(const aoe_index *index, const aoe_text *queries, size_t Q, float *vectors, aoe_error *err);
/* Returns the vectors of a reader for a scan. allowed: see below */
aoei_scan aoei_dense_rows(const aoei_reader *r, const uint64_t *allowed);
/* Finds the k best passages for each query and stores them in dense[Q]. allowed: bitmap of the rows of the view;
 * NULL: all. fast: see aoe_index_search_options. The caller frees dense[i].best, also after a failure. */
int aoei_dense_search(aoei_reader *r, const float *vectors, size_t Q, size_t k, int fast, const uint64_t *allowed,
                      aoei_locator *locator, aoei_dense *dense, aoe_error *err);
