/* SPDX-License-Identifier: MIT
 * Creates the text of an issue, which consists of the title, a line end and the body. On request, HTML comments, images
 * and lines of issue templates are removed from the body. Code is not changed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"

/* For each line, the number of bodies that contain it. Two lines are equal if they differ only in blanks at both ends
 * and in a checkbox at the start. */
typedef struct aoei_line_counts {
    struct aoei_line_count *slot; /* [size] hash table of lines, owned */
    size_t size, n;               /* size: number of slots, a power of two or 0; n: number of used slots */
    uint32_t bodies;              /* number of bodies that were added */
} aoei_line_counts;

/* Adds a body. Each distinct line of the body is counted once; lines of code are not counted. Errors: AOE_ENOMEM. */
int aoei_line_counts_add(aoei_line_counts *c, aoe_text body, aoe_error *err);
void aoei_line_counts_free(aoei_line_counts *c); /* accepts a zeroed struct */

/* Appends the text of an issue to `out`. clean: sum of AOE_ISSUE_CLEAN_*. counts: for each line, the number of issue
 * bodies of the repository that contain it; this number determines whether the line is a template line. NULL: no line
 * is considered a template line. CRLF becomes LF, and blank lines at both ends are removed. If clean is not 0, several
 * blank lines in succession become one. Errors: AOE_ENOMEM. */
int aoei_issue_text(aoei_buffer *out, aoe_text title, aoe_text body, unsigned clean, const aoei_line_counts *counts,
                    aoe_error *err);
