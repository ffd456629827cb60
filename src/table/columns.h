/* SPDX-License-Identifier: MIT
 * Selects the columns of a table for a kind of examples. Every kind has a list of roles, and every role has recognized
 * column names in order of precedence; options.columns names other columns. Names are matched exactly; a name without an
 * exact match selects the only column that has this name when the case of ASCII letters is ignored.
 */
#ifndef AOEI_TABLE_COLUMNS_H
#define AOEI_TABLE_COLUMNS_H

#include "aoe.h"
#include "aoe_data.h"
#include "table/table.h"

/* Selects the columns of t for a kind of examples: row.field[i] is then the i-th role in the order of aoe_example_kind.
 * columns: "role=name,..." for roles whose columns have other names, or NULL. Errors: AOE_EARG (columns is malformed, a role
 * is unknown or given twice), AOE_EFORMAT (no such column, or two with this name; the message lists the recognized names and
 * the columns found), AOE_ENOMEM. */
int aoei_columns_select(aoei_table *t, aoe_example_kind kind, const char *columns, aoe_error *err);
/* Detects the kind of examples from the columns of t: labeled pairs, else triplets, else positives. Errors: AOE_EFORMAT if
 * the table has all columns of no kind. */
int aoei_columns_detect(aoe_example_kind *kind, aoei_table *t, const char *columns, aoe_error *err);

/* Counts the columns with exactly this name. If there are none, returns 1 if a single column has this name when the case of
 * ASCII letters is ignored, else 0. *index is set to the first of these columns, or unchanged if there is none. */
size_t aoei_columns_find(const aoei_table *t, aoe_text name, size_t *index);
/* Fails with AOE_EFORMAT: "FILE: PROBLEM; found COLUMNS; REMEDY", where COLUMNS are the names of the table's columns. */
int aoei_columns_fail(const aoei_table *t, const char *problem, const char *remedy, aoe_error *err);

#endif
