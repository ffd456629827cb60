/* SPDX-License-Identifier: MIT
 * Selects the columns of a table for a kind of examples. A role is a text or the label of an example. For example,
 * labeled pairs have the roles text1, text2 and label. For each role there is a list of recognized column names;
 * options.columns can assign another column to a role. If a column has exactly the requested name, it is selected.
 * Otherwise, a column is selected if it is the only one that has this name when the case of ASCII letters is ignored.
 */
#pragma once

#include "aoe.h"
#include "aoe_data.h"
#include "table/table.h"

/* Selects the columns of t for a kind of examples. After this call, aoei_row.field[i] is the value for the i-th role of
 * the kind; aoe_example_kind lists the roles. The last role of triplets may have several columns, one per negative.
 * columns: "role=name,...", or NULL. A role that `columns` does not contain uses its recognized names; the role
 * "ignore" names columns that are not used. Errors:
 * - AOE_EARG if `columns` is malformed, or contains an unknown role or one role twice
 * - AOE_EFORMAT if the table has no column for a role, or several columns with the selected name; the message lists the
 *   recognized names and the columns of the table
 * - AOE_ENOMEM */
int aoei_columns_select(aoei_table *t, aoe_example_kind kind, const char *columns, aoe_error *err);
/* Selects the two text columns of t for pairs without labels: the roles text1 and text2. columns and errors: as
 * aoei_columns_select. */
int aoei_columns_select_pair(aoei_table *t, const char *columns, aoe_error *err);
/* Detects the kind of examples from the columns of t. Sets *kind to the first of these kinds for which t has all
 * columns: labeled pairs, triplets, positives. If the texts of labeled pairs are the query and the positive of
 * triplets, the kind is triplets. Errors: AOE_EFORMAT if t does not have all columns of any of these kinds. */
int aoei_columns_detect(aoe_example_kind *kind, aoei_table *t, const char *columns, aoe_error *err);

/* Selects the columns of t for a kind of examples, as aoei_columns_select does. If the kind is positives or triplets,
 * and a column that is not used looks like labels, scores or negatives (column_names.h), fails with AOE_EFORMAT. A
 * column that `columns` ignores (ignore=NAME) is accepted. The keys of a .jsonl file that appear only after its first
 * row are checked while the rows are read. Call this function unless the user selected the kind of examples
 * explicitly. */
int aoei_columns_check_used(aoei_table *t, aoe_example_kind kind, const char *columns, aoe_error *err);
/* Detects the kind as aoei_columns_detect does, and then calls aoei_columns_check_used. */
int aoei_columns_detect_used(aoe_example_kind *kind, aoei_table *t, const char *columns, aoe_error *err);
/* Sets *index to the first column of t that is not selected and looks like labels or scores, unless `columns` ignores
 * it. Returns 0 if there is none. */
int aoei_columns_find_label(const aoei_table *t, const char *columns, size_t *index);
/* Logs, for the log of the table's options, which columns of t are used for which role, and which columns are not used.
 * A .txt file has no columns and is not logged. Call this function once per table, after its columns are selected.
 * roles: [n] name of the role of each selected column; the last name also applies to further columns. */
void aoei_columns_log_roles(aoei_table *t, const char *const *roles, size_t n);
void aoei_columns_log(aoei_table *t, aoe_example_kind kind); /* the same with the roles of a kind */

/* Returns the number of columns with exactly this name. If there is no such column, returns 1 if exactly one column has
 * this name when the case of ASCII letters is ignored, and 0 otherwise. If the result is not 0, *index is set to the
 * first column that was counted. */
size_t aoei_columns_find(const aoei_table *t, aoe_text name, size_t *index);
/* Fails with AOE_EFORMAT if `columns` (options.columns) contains names but the file is read as .txt. Otherwise returns
 * 0. */
int aoei_columns_check_txt(const aoei_table *t, const char *columns, aoe_error *err);
/* Fails with AOE_EFORMAT. The message is "FILE: PROBLEM; found COLUMNS; REMEDY", where COLUMNS are the column names of
 * t. If remedy is NULL, "; REMEDY" is omitted. There are two other messages: one for a file read as .txt, which has no
 * columns, and one for a header that was probably split with the wrong delimiter. If a column name looks like a value,
 * the message adds that the first line is taken as the header, and names options.no_header. */
int aoei_columns_fail(const aoei_table *t, const char *problem, const char *remedy, aoe_error *err);
