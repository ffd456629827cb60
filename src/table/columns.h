/* SPDX-License-Identifier: MIT
 * Which column of a table plays which role. A kind is a list of roles; each role
 * has recognised column names in order of precedence, and --columns names others.
 */
#ifndef AOEI_TABLE_COLUMNS_H
#define AOEI_TABLE_COLUMNS_H

#include "aoe.h"
#include "aoe_data.h"
#include "table/table.h"

/* Selects the columns of t for a kind of examples, so that row.field[i] is column i in the order of aoe_example_kind.
 * columns: "role=name,..." for roles whose column has another name, or NULL.
 * Errors: AOE_EARG (columns is malformed, role unknown or given twice), AOE_EFORMAT (no such column, or two of that
 * name; the message lists the names looked for and the columns found), AOE_ENOMEM. */
int aoei_columns_select(aoei_table *t, aoe_example_kind kind, const char *columns, aoe_error *err);
/* The kind of examples whose columns t has: labelled pairs, else triplets, else positives. AOE_EFORMAT when it has those of
 * none. */
int aoei_columns_detect(aoe_example_kind *kind, aoei_table *t, const char *columns, aoe_error *err);

/* The names of a table's columns, as many as fit, for a message; "" when there are none. */
enum { AOEI_COLUMN_LIST = 400 };
void aoei_columns_list(const aoei_table *t, char found[AOEI_COLUMN_LIST]);

#endif
