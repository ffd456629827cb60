/* SPDX-License-Identifier: MIT
 * The passages and rows of each document, for conditions that allow many documents. The first such search of a view
 * reads them all.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "index/sql.h"

typedef struct aoei_range {
    uint32_t first_row, first_passage;
    uint32_t n; /* number of passages; 0: there is no such document, or it has no passages */
} aoei_range;

typedef struct aoei_ranges {
    aoei_range *range; /* [n] range of the document with this id; owned */
    size_t n;          /* the largest id of a document plus 1 */
} aoei_ranges;

/* Reads the ranges. The caller calls aoei_ranges_free. Errors: AOE_ENOMEM, AOE_EFORMAT, AOE_EIO. */
int aoei_ranges_read(aoei_ranges **out, aoei_db *d, aoe_error *err);
void aoei_ranges_free(aoei_ranges *r); /* accepts NULL */

/* Sets *n to the largest id of a table plus 1. sql: a statement that returns the largest id, or -1 if the table is
 * empty. Errors: AOE_EFORMAT (ids are small numbers, so an id above UINT32_MAX is a damage), AOE_EIO. */
int aoei_ids_end(aoei_db *d, const char *sql, size_t *n, aoe_error *err);
