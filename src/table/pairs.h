/* SPDX-License-Identifier: MIT
 * Creates sets of labeled pairs (aoe_pairs in aoe_data.h). A set can be read from an open table. Readers of other
 * formats, such as SentEval, create an empty set and append pairs to it.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"
#include "table/table.h"

/* Creates an empty set. name: file name for messages; it is copied. */
int aoei_pairs_create(aoe_pairs **p, const char *name, aoe_error *err);
/* Appends a pair with copies of both texts. line: line number in the file for messages, counted from 1. */
int aoei_pairs_append(aoe_pairs *p, aoe_text text1, aoe_text text2, double label, size_t line, aoe_error *err);
const char *aoei_pairs_name(const aoe_pairs *p); /* file name for messages; owned by p */
/* Extends the range [*low, *high] so that it includes the labels of all pairs in p. Before the first call, the caller
 * sets the range to [INFINITY, -INFINITY], which is empty. */
void aoei_pairs_label_range(const aoe_pairs *p, double *low, double *high);
/* Reads labeled pairs as aoe_pairs_load does, but from an open table, which the caller closes. */
int aoei_pairs_read(aoe_pairs **p, aoei_table *t, const aoe_table_options *o, aoe_error *err);
