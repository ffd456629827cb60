/* SPDX-License-Identifier: MIT
 * UTF-8 validation and decoding (RFC 3629: no surrogates, no overlong forms, up to U+10FFFF).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns the offset of the first invalid byte, or len if the text is valid. */
size_t aoei_utf8_valid(const char *s, size_t len);
/* Recognizes a text in UTF-16 or UTF-32 by its first bytes: a byte order mark, or one or two ASCII characters in this
 * encoding. Returns "UTF-16" or "UTF-32" (with byte order mark), "UTF-16LE", "UTF-16BE", "UTF-32LE" or "UTF-32BE",
 * which are the names that iconv uses, or NULL if the text probably has another encoding. */
const char *aoei_utf_name(const char *s, size_t len);
/* Returns the number of code points of a valid text. */
size_t aoei_utf8_chars(const char *s, size_t len);
/* Returns the number of bytes of the first n code points of a valid text, or len if the text has fewer. */
size_t aoei_utf8_prefix(const char *s, size_t len, size_t n);
/* Decodes the code point at s (len > 0) into *cp. Returns its length in bytes (1 to 4), or 0 if it is invalid. */
size_t aoei_utf8_decode(const char *s, size_t len, uint32_t *cp);
/* Encodes cp into out[4]. Returns the number of bytes (1 to 4), or 0 for surrogates and values above U+10FFFF. */
size_t aoei_utf8_encode(uint32_t cp, char out[4]);

/* Returns 1 if the code point is white space, as str.isspace of Python defines it: the characters with the Unicode
 * property White_Space, such as the no-break space U+00A0, and U+001C to U+001F. */
int aoei_utf8_is_space(uint32_t cp);
/* Returns 1 if the text is empty or contains only white space. */
int aoei_utf8_is_blank(const char *s, size_t len);
