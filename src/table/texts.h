/* SPDX-License-Identifier: MIT
 * Reads all texts of a file. In a .txt file, every line is a text. In a table, the texts are the values of all columns
 * that have a recognized name for texts; labels are ignored. Therefore, training and evaluation files can be used where
 * only texts are needed. */
#pragma once

#include "aoe_data.h"
#include "table/examples.h"

/* Selects the text columns of t and sets *n to their number. Errors: AOE_EFORMAT if the table has no such column, or if
 * `columns` contains names but the file is read as .txt. columns is one of:
 * - NULL: all columns with recognized names for texts
 * - "a,b": the columns with these names
 * - "text=NAME": the column NAME
 * - "": the column text or sentence */
int aoei_texts_select(aoei_table *t, size_t *n, const char *columns, aoe_error *err);

/* Reads a file, or a folder of SentEval's STS data, as examples of the kind AOE_EXAMPLES_TEXTS. Each text becomes one
 * example, in row order; each element of a JSON list of texts becomes one example. o: options, or NULL; o->columns has
 * the format of aoei_texts_select. The caller calls aoei_examples_free even if this function fails. Errors: AOE_EFORMAT
 * if a row is invalid (the message contains the file, line and column) or the file contains no text. */
int aoei_texts_load(aoei_examples *e, const char *path, const aoe_table_options *o, aoe_error *err);

/* Returns 1 if a file contains only plain texts: a .txt file, a table with the column text or sentence and no other
 * column with a recognized name for texts, or a folder of SentEval's STS data. Returns 0 if the file is not a regular
 * file, such as a pipe, or cannot be read. o: options, or NULL. */
int aoei_texts_are_plain(const char *path, const aoe_table_options *o);
