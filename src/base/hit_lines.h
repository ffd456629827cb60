/* SPDX-License-Identifier: MIT
 * The place of a passage in a file, as `aoe search` and the server report it.
 */
#pragma once

#include <stddef.h>

#include "aoe_index.h"

/* Returns 1 if the document is a whole file; 0: it is a row of a table, or its text was given by a program. */
int aoei_hit_is_file(const aoe_index_hit *hit);
/* Sets *first and *last to the lines of the file that contain a passage. A row of a table with the name FILE:LINE has
 * this line. 0: the lines are not known, because the name of the row is an id. Returns 1 if the lines of the passage
 * are those of its document. */
int aoei_hit_lines(const aoe_index_hit *hit, size_t *first, size_t *last);
