/* SPDX-License-Identifier: MIT
 * Creates sets of labeled pairs (aoe_pairs in aoe_data.h): empty sets that readers of formats other than tables (SentEval) and
 * tests fill, and sets that are read from an open table.
 */
#ifndef AOEI_TABLE_PAIRS_H
#define AOEI_TABLE_PAIRS_H

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"
#include "table/table.h"

/* Creates an empty set. name: file name for messages, copied. */
int aoei_pairs_create(aoe_pairs **p, const char *name, aoe_error *err);
/* Appends a pair; both texts are copied. line: line in the file for messages, counted from 1. */
int aoei_pairs_append(aoe_pairs *p, aoe_text text1, aoe_text text2, double label, size_t line, aoe_error *err);
const char *aoei_pairs_name(const aoe_pairs *p); /* file name for messages; owned by p */
/* Extends the range [*low, *high] to include all labels; an empty range is [INFINITY, -INFINITY]. */
void aoei_pairs_label_range(const aoe_pairs *p, double *low, double *high);
/* Like aoe_pairs_load, but reads from an open table, which the caller closes. */
int aoei_pairs_read(aoe_pairs **p, aoei_table *t, const aoe_table_options *o, aoe_error *err);

#endif
