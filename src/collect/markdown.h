/* SPDX-License-Identifier: MIT
 * The parts of Markdown that matter for texts of issues: where code, quotations and HTML comments are, so that their
 * content is not attributed to the writer. This is not a parser: no tree, no rendering. Any bytes are accepted.
 */
#ifndef AOEI_COLLECT_MARKDOWN_H
#define AOEI_COLLECT_MARKDOWN_H

#include <stddef.h>

enum { AOEI_MASKED = 1 }; /* replacement of hidden bytes: a control character, therefore never part of a word */

/* Overwrites code (fenced, indented, in backticks), quoted lines (">") and HTML comments with AOEI_MASKED, in place. Line
 * ends and all offsets are preserved. */
void aoei_markdown_mask(char *text, size_t len);

/* Length of the HTML comment that begins at s, including its "-->", or up to the end if it is not closed; 0: no comment
 * begins here. */
size_t aoei_markdown_comment(const char *s, size_t len);

/* Number of fence characters ('`' or '~', in *mark) if the line opens a fenced code block; otherwise 0. */
size_t aoei_markdown_fence(const char *line, size_t len, char *mark);
/* 1: the line closes a block that was opened by n characters `mark`. */
int aoei_markdown_fence_ends(const char *line, size_t len, char mark, size_t n);

#endif
