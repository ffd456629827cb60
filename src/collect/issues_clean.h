/* SPDX-License-Identifier: MIT
 * The text of an issue: title, line end, body. HTML comments, images and lines of templates are removed from the body if
 * the user selects that; code is preserved. The originals remain in the cache.
 */
#ifndef AOEI_COLLECT_ISSUES_CLEAN_H
#define AOEI_COLLECT_ISSUES_CLEAN_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"

/* Number of bodies that contain each line. Lines are compared without blanks at their ends and without the state of
 * checkboxes. */
typedef struct aoei_line_counts {
    struct aoei_line_count *slot; /* owned [size] */
    size_t size, n;               /* a power of two or 0; used slots */
    uint32_t bodies;              /* added */
} aoei_line_counts;

/* Adds a body: counts each distinct line outside of code and comments once. Errors: AOE_ENOMEM. */
int aoei_line_counts_add(aoei_line_counts *c, aoe_text body, aoe_error *err);
void aoei_line_counts_free(aoei_line_counts *c); /* accepts a zeroed one */

/* Appends the text to out. clean: sum of AOE_ISSUE_CLEAN_*; counts: lines of the bodies of the repository, for templates;
 * NULL: none. CRLF becomes LF, and blank lines at both ends are removed; if clean is not 0, runs of blank lines become one.
 * Errors: AOE_ENOMEM. */
int aoei_issue_text(aoei_buffer *out, aoe_text title, aoe_text body, unsigned clean, const aoei_line_counts *counts,
                    aoe_error *err);

#endif
