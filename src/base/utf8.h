/* SPDX-License-Identifier: MIT
 * UTF-8 validation and decoding (RFC 3629: no surrogates, no overlong forms, up to U+10FFFF).
 */
#ifndef AOEI_BASE_UTF8_H
#define AOEI_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Offset of the first invalid byte, or len when the text is valid. */
size_t aoei_utf8_valid(const char *s, size_t len);
/* Decodes one code point at s (len > 0); returns its bytes 1..4, or 0 when invalid. */
size_t aoei_utf8_decode(const char *s, size_t len, uint32_t *cp);
/* Encodes cp into out[4]; returns bytes 1..4 (0 for surrogates and beyond U+10FFFF). */
size_t aoei_utf8_encode(uint32_t cp, char out[4]);

#endif
