/* SPDX-License-Identifier: MIT
 * Finds .tsv files whose fields are quoted as in CSV. Quotes in .tsv files are ordinary characters, but some programs,
 * such as pandas and Excel, quote a field that contains a TAB, a line end or a quote, and double the quotes in it.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"

/* Reads a .tsv file. Sets *line to the line number of the first field that is quoted as in CSV if all fields of the
 * file are consistent with this: no unquoted field contains a quote, all rows have the same number of fields, and
 * either a quoted field contains a TAB, a line end or doubled quotes and none is quoted without need, or all fields of
 * the header and all other fields that are not numbers are quoted. Otherwise *line is 0, also if the file is not a
 * regular file or cannot be read. Errors: AOE_ENOMEM. */
int aoei_quotes_find(size_t *line, const char *path, aoe_error *err);
