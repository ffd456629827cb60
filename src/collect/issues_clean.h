/* SPDX-License-Identifier: MIT
 * The text of an issue: title, line end, body, with what was asked for taken out of
 * the body: HTML comments, images, lines of templates. What stands in code stays.
 * What is taken out is a choice of the user; the originals stay in the cache.
 */
#ifndef AOEI_COLLECT_ISSUES_CLEAN_H
#define AOEI_COLLECT_ISSUES_CLEAN_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"

/* In how many bodies each line stands. Lines are compared without blanks at their ends, boxes ticked or not. */
typedef struct aoei_line_counts {
    struct aoei_line_count *slot; /* owned [size] */
    size_t size, n;               /* a power of two or 0; in use */
    uint32_t bodies;              /* added */
} aoei_line_counts;

/* Counts each line of a body outside of code and comments once. Errors: AOE_ENOMEM. */
int aoei_line_counts_add(aoei_line_counts *c, aoe_text body, aoe_error *err);
void aoei_line_counts_free(aoei_line_counts *c); /* accepts a zeroed one */

/* Appends the text to out. clean: sum of AOE_ISSUE_CLEAN_*; counts: of the repository's bodies, for templates; NULL: none.
 * CRLF becomes LF; blank lines at the ends go, and with clean not 0 of several in a row one stays. Errors: AOE_ENOMEM. */
int aoei_issue_text(aoei_buffer *out, aoe_text title, aoe_text body, unsigned clean, const aoei_line_counts *counts,
                    aoe_error *err);

#endif
