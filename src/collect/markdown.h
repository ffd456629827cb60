/* SPDX-License-Identifier: MIT
 * The little of Markdown that texts of issues need: where code, quotes and HTML
 * comments stand, so that what is said inside them is not taken for the writer's
 * own words. Not a parser: no tree, no rendering. Any bytes are accepted.
 */
#ifndef AOEI_COLLECT_MARKDOWN_H
#define AOEI_COLLECT_MARKDOWN_H

#include <stddef.h>

enum { AOEI_MASKED = 1 }; /* the byte that hidden ones become; a control character, so never part of a word */

/* Overwrites with AOEI_MASKED, in place: code (fenced, indented, in backticks), quoted lines (">") and HTML comments. Line
 * ends stay, and so do all offsets. */
void aoei_markdown_mask(char *text, size_t len);

/* Length of the HTML comment that begins at s: up to and with its "-->", all that is left without one; 0: none begins here. */
size_t aoei_markdown_comment(const char *s, size_t len);

/* Of a line that opens a fenced code block the number of its fence characters ('`' or '~', in *mark); else 0. */
size_t aoei_markdown_fence(const char *line, size_t len, char *mark);
/* 1: the line closes a block that was opened by n of mark. */
int aoei_markdown_fence_ends(const char *line, size_t len, char mark, size_t n);

#endif
