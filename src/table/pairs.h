/* SPDX-License-Identifier: MIT
 * Building aoe_pairs: for readers of other layouts than tables (SentEval) and
 * for tests. The public side is aoe.h.
 */
#ifndef AOEI_TABLE_PAIRS_H
#define AOEI_TABLE_PAIRS_H

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"
#include "table/table.h"

int aoei_pairs_create(aoe_pairs **p, const char *name, aoe_error *err); /* empty; name: the file, for messages, copied */
/* Copies both texts. */
int aoei_pairs_append(aoe_pairs *p, aoe_text text1, aoe_text text2, double label, size_t line, aoe_error *err);
const char *aoei_pairs_name(const aoe_pairs *p); /* owned by p */
/* As aoe_pairs_load, from an open table, which stays the caller's. */
int aoei_pairs_read(aoe_pairs **p, aoei_table *t, const aoe_table_options *o, aoe_error *err);

#endif
