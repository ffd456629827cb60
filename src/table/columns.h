/* SPDX-License-Identifier: MIT
 * Selects the columns of a table for a kind of examples. A role is a text or the label of an example: labeled pairs have the
 * roles text1, text2 and label. Every role has recognized column names in order of precedence; options.columns selects columns
 * with other names. A name selects the column with exactly this name. If no column has this name, and exactly one column has it
 * when the case of ASCII letters is ignored, the name selects that column.
 */
#ifndef AOEI_TABLE_COLUMNS_H
#define AOEI_TABLE_COLUMNS_H

#include "aoe.h"
#include "aoe_data.h"
#include "table/table.h"

/* Selects the columns of t for a kind of examples: field[i] of each row is then the i-th role of the kind (aoe_example_kind
 * lists the roles). columns: "role=name,..." for roles whose columns have other names, or NULL. Errors: AOE_EARG (columns is
 * malformed, a role is unknown or given twice), AOE_EFORMAT (no such column, or two with this name; the message lists the
 * recognized names and the columns found), AOE_ENOMEM. */
int aoei_columns_select(aoei_table *t, aoe_example_kind kind, const char *columns, aoe_error *err);
/* Detects the kind of examples from the columns of t: labeled pairs, else triplets, else positives. Errors: AOE_EFORMAT if
 * the table lacks a column for each of these kinds. */
int aoei_columns_detect(aoe_example_kind *kind, aoei_table *t, const char *columns, aoe_error *err);

/* Returns the number of columns with exactly this name. If there is none, returns 1 if exactly one column has this name when
 * the case of ASCII letters is ignored, else 0. *index is set to the first of the counted columns; unchanged if the result is
 * 0. */
size_t aoei_columns_find(const aoei_table *t, aoe_text name, size_t *index);
/* Fails with AOE_EFORMAT if options.columns selects columns of a file that is read as .txt; otherwise returns 0. */
int aoei_columns_check_txt(const aoei_table *t, const char *columns, aoe_error *err);
/* Fails with AOE_EFORMAT. The message is "FILE: PROBLEM; found COLUMNS; REMEDY", where COLUMNS are the names of the columns.
 * remedy: NULL for none. The message is different if the file is read as .txt, which has no columns, or if its header was not
 * split into fields. */
int aoei_columns_fail(const aoei_table *t, const char *problem, const char *remedy, aoe_error *err);

#endif
