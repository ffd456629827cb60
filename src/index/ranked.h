/* SPDX-License-Identifier: MIT
 * Lists of passages from the best to the worst. A passage with a higher score ranks first. Passages with equal scores
 * are ordered by the name of their document, then by their position.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "index/locate.h"

typedef struct aoei_ranked {
    int64_t passage;           /* id */
    double score;              /* not NaN */
    size_t words;              /* lists by words: number of words of the query in the passage, without ignored ones */
    const aoei_located *place; /* owned by the locator */
} aoei_ranked;

/* Compares two elements, whose places are known, for qsort(). */
int aoei_ranked_compare(const void *a, const void *b);
/* Finds the places of list[n] and sorts it. */
int aoei_ranked_order(aoei_ranked *list, size_t n, aoei_locator *l, aoe_error *err);
