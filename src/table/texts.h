/* SPDX-License-Identifier: MIT
 * Texts of any file, whatever it was made for: the lines of a .txt, and of a table
 * every column with a recognised name of a text, so that training and evaluation
 * files serve as plain texts too. Labels are not looked at.
 */
#ifndef AOEI_TABLE_TEXTS_H
#define AOEI_TABLE_TEXTS_H

#include "aoe_data.h"
#include "table/examples.h"

/* Selects the columns of texts of t; *n is their number. columns: "a,b", "text=NAME", or NULL: those with recognised names.
 * AOE_EFORMAT when there are none. */
int aoei_texts_select(aoei_table *t, size_t *n, const char *columns, aoe_error *err);

/* Reads a file as examples of form AOE_EXAMPLES_TEXTS, one a text, row after row; of a list of alternatives each is one.
 * o->columns as in aoe_texts_read, or "text=NAME". *e is to be freed either way. Errors: AOE_EFORMAT with file, line and column
 * (also: no text at all). */
int aoei_texts_load(aoei_examples *e, const char *path, const aoe_table_options *o, aoe_error *err);

#endif
