/* SPDX-License-Identifier: MIT
 * Shows texts of files on a terminal. Characters that would change the state of a terminal, or the order in which it
 * shows other characters, are replaced by escapes such as \x1b: control characters (also U+0080 to U+009F), the
 * bidirectional controls U+202A to U+202E and U+2066 to U+2069, the line separators U+2028 and U+2029, and bytes that
 * are not valid UTF-8.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"

enum { CLI_VISIBLE_MAX = 8 /* maximum number of bytes of a character or an escape */ };

/* A character as it is shown. */
typedef struct cli_visible {
    size_t bytes;              /* number of bytes of the character in the text */
    size_t columns;            /* number of columns that `out` occupies on a terminal */
    size_t n;                  /* number of bytes of `out` */
    char out[CLI_VISIBLE_MAX]; /* [n] the character or its escape; not NUL-terminated */
} cli_visible;

/* Sets *v to the visible form of the first character of s[len], where len > 0. */
void cli_visible_char(cli_visible *v, const char *s, size_t len);
/* Appends the visible form of s[len]. Line breaks and tabs are replaced, too. */
void cli_append_visible(aoei_buffer *b, const char *s, size_t len);
/* Appends JSON text. The characters that cli_visible_char replaces become JSON escapes, so that the text has the same
 * meaning. json: [len] valid JSON in UTF-8. */
void cli_append_visible_json(aoei_buffer *b, const char *json, size_t len);
