/* SPDX-License-Identifier: MIT
 * Finds code, quotations and HTML comments in Markdown texts. These parts of an issue are not statements of its author.
 * The functions do not parse all of Markdown. They accept any bytes.
 */
#pragma once

#include <stddef.h>

enum {
    AOEI_MASKED = 1
}; /* byte that replaces masked bytes; it is a control character, so it is never part of a word */

/* Overwrites code (fenced, indented or in backticks), quoted lines (">") and HTML comments with AOEI_MASKED. Line ends
 * are not overwritten, and no offsets change. */
void aoei_markdown_mask(char *text, size_t len);

/* Returns the length of the HTML comment at the start of s, including its "-->". A comment without "-->" ends at the
 * end of s. Returns 0 if s starts differently. */
size_t aoei_markdown_comment(const char *s, size_t len);

/* If the line opens a fenced code block, returns the number of fence characters and sets *mark to the fence character,
 * '`' or '~'. Otherwise returns 0. */
size_t aoei_markdown_fence(const char *line, size_t len, char *mark);
/* Returns 1 if the line closes a code block that was opened by n fence characters `mark`. */
int aoei_markdown_fence_ends(const char *line, size_t len, char mark, size_t n);
