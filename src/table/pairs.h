/* SPDX-License-Identifier: MIT
 * Creates aoe_pairs (aoe_data.h), for readers of formats other than tables (SentEval) and for tests.
 */
#ifndef AOEI_TABLE_PAIRS_H
#define AOEI_TABLE_PAIRS_H

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"
#include "table/table.h"

int aoei_pairs_create(aoe_pairs **p, const char *name,
                      aoe_error *err); /* creates an empty set; name: file name for messages, copied */
/* Appends a pair; both texts are copied. */
int aoei_pairs_append(aoe_pairs *p, aoe_text text1, aoe_text text2, double label, size_t line, aoe_error *err);
const char *aoei_pairs_name(const aoe_pairs *p); /* owned by p */
/* Extends the range [*low, *high] to include all labels; an empty range is [INFINITY, -INFINITY]. */
void aoei_pairs_label_range(const aoe_pairs *p, double *low, double *high);
/* Like aoe_pairs_load, from an open table, which the caller closes. */
int aoei_pairs_read(aoe_pairs **p, aoei_table *t, const aoe_table_options *o, aoe_error *err);

#endif
