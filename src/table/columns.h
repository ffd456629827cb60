/* SPDX-License-Identifier: MIT
 * Which column of a table plays which role. A kind is a list of roles; each role
 * has recognized column names in order of precedence, and options.columns names others. Names are matched exactly; a name that
 * no column has exactly selects the only column that has it when the case of ASCII letters is ignored.
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

/* Number of columns with exactly this name; else 1 if a single column has this name when the case of ASCII letters is ignored,
 * else 0. *index is the first of the columns, unchanged if there is none. */
size_t aoei_columns_find(const aoei_table *t, aoe_text name, size_t *index);
/* Fails with AOE_EFORMAT: "FILE: PROBLEM; found COLUMNS; REMEDY", where COLUMNS are the names of the table's columns. */
int aoei_columns_fail(const aoei_table *t, const char *problem, const char *remedy, aoe_error *err);

#endif
