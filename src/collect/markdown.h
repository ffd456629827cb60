/* SPDX-License-Identifier: MIT
 * Finds the parts of Markdown that matter in issue texts: code, quotations and HTML comments, whose content the author did
 * not state. It is not a parser: there is no tree and no rendering. Any bytes are accepted.
 */
#ifndef AOEI_COLLECT_MARKDOWN_H
#define AOEI_COLLECT_MARKDOWN_H

#include <stddef.h>

enum { AOEI_MASKED = 1 }; /* byte that replaces masked bytes: a control character, so it is never part of a word */

/* Overwrites code (fenced, indented, in backticks), quoted lines (">") and HTML comments with AOEI_MASKED, in place. Line
 * ends and offsets do not change. */
void aoei_markdown_mask(char *text, size_t len);

/* Length of the HTML comment at s, including its "-->", or up to the end if it is not closed; 0: no comment. */
size_t aoei_markdown_comment(const char *s, size_t len);

/* Number of fence characters if the line opens a fenced code block, otherwise 0. *mark is set to the character, '`' or '~'. */
size_t aoei_markdown_fence(const char *line, size_t len, char *mark);
/* 1 if the line closes a block that was opened by n characters `mark`. */
int aoei_markdown_fence_ends(const char *line, size_t len, char mark, size_t n);

#endif
