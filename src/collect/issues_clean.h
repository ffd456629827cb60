/* SPDX-License-Identifier: MIT
 * The text of an issue: title, line end, body. On request, HTML comments, images and lines of issue templates are
 * removed from the body; code is not changed.
 */
#ifndef AOEI_COLLECT_ISSUES_CLEAN_H
#define AOEI_COLLECT_ISSUES_CLEAN_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"

/* The number of bodies that contain each line. Lines are compared without blanks at both ends and without a leading checkbox.
 */
typedef struct aoei_line_counts {
    struct aoei_line_count *slot; /* [size] hash table of lines, owned */
    size_t size, n;               /* number of slots, a power of two or 0; number of used slots */
    uint32_t bodies;              /* number of bodies added */
} aoei_line_counts;

/* Adds a body: counts each distinct line outside of code and comments once. Errors: AOE_ENOMEM. */
int aoei_line_counts_add(aoei_line_counts *c, aoe_text body, aoe_error *err);
void aoei_line_counts_free(aoei_line_counts *c); /* accepts a zeroed struct */

/* Appends the text of an issue to out. clean: sum of AOE_ISSUE_CLEAN_*. counts: counts of the lines of the repository's
 * bodies, from which template lines are recognized; NULL: none. CRLF becomes LF, and blank lines at both ends are removed. If
 * clean is not 0, consecutive blank lines become one. Errors: AOE_ENOMEM. */
int aoei_issue_text(aoei_buffer *out, aoe_text title, aoe_text body, unsigned clean, const aoei_line_counts *counts,
                    aoe_error *err);

#endif
