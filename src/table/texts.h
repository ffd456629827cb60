/* SPDX-License-Identifier: MIT
 * Reads all texts of a file: the lines of a .txt file, or all columns of a table that have a recognized name for texts.
 * Training and evaluation files can therefore be used where only texts are needed. Labels are ignored.
 */
#ifndef AOEI_TABLE_TEXTS_H
#define AOEI_TABLE_TEXTS_H

#include "aoe_data.h"
#include "table/examples.h"

/* Selects the text columns of t; *n is set to their number. columns: column names "a,b", or "text=NAME", or NULL for all
 * columns with recognized names, or "" for the column text or sentence. Errors: AOE_EFORMAT if the table has no such column, or
 * if columns are named but the file is read as .txt. */
int aoei_texts_select(aoei_table *t, size_t *n, const char *columns, aoe_error *err);

/* Reads a file as examples of the kind AOE_EXAMPLES_TEXTS: one example per text, in row order. Every element of a
 * JSON list of texts is an example. o: NULL or options, in which columns has the meaning of aoei_texts_select. *e must be freed
 * even if this fails. Errors: AOE_EFORMAT (invalid row, with file, line and column; no text in the file). */
int aoei_texts_load(aoei_examples *e, const char *path, const aoe_table_options *o, aoe_error *err);

#endif
