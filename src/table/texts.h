/* SPDX-License-Identifier: MIT
 * Texts of any file: the lines of a .txt file, or all columns of a table with recognized names of texts. Training and
 * evaluation files can thus be used as plain texts. Labels are ignored.
 */
#ifndef AOEI_TABLE_TEXTS_H
#define AOEI_TABLE_TEXTS_H

#include "aoe_data.h"
#include "table/examples.h"

/* Selects the columns of texts of t; *n is their number. columns: "a,b", "text=NAME", or NULL for recognized names.
 * AOE_EFORMAT: the table has no such column. */
int aoei_texts_select(aoei_table *t, size_t *n, const char *columns, aoe_error *err);

/* Reads a file as examples of the kind AOE_EXAMPLES_TEXTS, one per text, row by row; every alternative of a list is an
 * example. o->columns: as for aoei_texts_select. *e must be freed in any case. Errors: AOE_EFORMAT with file, line and
 * column (also if there is no text at all). */
int aoei_texts_load(aoei_examples *e, const char *path, const aoe_table_options *o, aoe_error *err);

#endif
