/* SPDX-License-Identifier: MIT
 * The passages that a search may find: those of the documents that satisfy a condition, as bitmaps of the vector rows
 * and of the passage ids. Both halves of a search apply them before they choose the best passages.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe_index.h"
#include "index/ranges.h"

typedef struct aoei_allowed {
    uint64_t *rows;     /* [(n_rows + 63) / 64], owned; NULL: no condition, all are allowed */
    uint64_t *passages; /* [(n_passages + 63) / 64], owned; NULL: no condition */
    size_t n_rows;      /* rows of the view */
    size_t n_passages;  /* largest id of a passage plus 1 */
} aoei_allowed;

/* Sets *ranges to the ranges of all documents, which the callback owns (aoei_view_ranges). */
typedef int (*aoei_ranges_fn)(void *user, aoei_db *d, const aoei_ranges **ranges, aoe_error *err);

/* Evaluates the condition and the patterns of paths of a search. n_rows: rows of the view of this transaction. ranges:
 * called if the condition allows many documents. The caller calls aoei_allowed_free, also after a failure. Errors: see
 * aoei_where_create and aoei_where_documents. */
int aoei_allowed_create(aoei_allowed *a, aoei_db *d, const aoe_index_search_options *o, size_t n_rows,
                        aoei_ranges_fn ranges, void *user, aoe_error *err);
void aoei_allowed_free(aoei_allowed *a);
