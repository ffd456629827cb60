/* SPDX-License-Identifier: MIT
 * Finds the parts of Markdown that matter in issue texts: code, quotations and HTML comments, which are not statements of
 * the author. It is not a complete Markdown parser. Any bytes are accepted.
 */
#ifndef AOEI_COLLECT_MARKDOWN_H
#define AOEI_COLLECT_MARKDOWN_H

#include <stddef.h>

enum { AOEI_MASKED = 1 }; /* byte that replaces masked bytes: a control character, so it is never part of a word */

/* Overwrites code (fenced, indented, in backticks), quoted lines (">") and HTML comments with AOEI_MASKED, in place. Line
 * ends and offsets do not change. */
void aoei_markdown_mask(char *text, size_t len);

/* Returns the length of the HTML comment at s, including its "-->". If the comment is not closed, it ends at the end of s.
 * Returns 0 if there is no comment at s. */
size_t aoei_markdown_comment(const char *s, size_t len);

/* Returns the number of fence characters if the line opens a fenced code block, otherwise 0. Sets *mark to the character, '`'
 * or '~'. */
size_t aoei_markdown_fence(const char *line, size_t len, char *mark);
/* Returns 1 if the line closes a code block that was opened by n characters `mark`. */
int aoei_markdown_fence_ends(const char *line, size_t len, char mark, size_t n);

#endif
