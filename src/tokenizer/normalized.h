/* SPDX-License-Identifier: MIT
 * The buffers that normalizers and pre-tokenizers write. A buffer contains the bytes of a text. If tracking is enabled, it also
 * contains the origin of each byte. The origin is the byte offset in the raw text of the character from which the byte comes.
 * Zero bytes follow the text, so that readers may load several bytes at once.
 */
#ifndef AOEI_TOKENIZER_NORMALIZED_H
#define AOEI_TOKENIZER_NORMALIZED_H

#include <stddef.h>
#include <stdint.h>

#define AOEI_NORMALIZED_SLACK 16 /* number of zero bytes after the text */

/* A text buffer. The caller zeroes it before the first use and may reuse it for other texts. */
typedef struct aoei_normalized {
    char *data;      /* [len + AOEI_NORMALIZED_SLACK] bytes, owned */
    size_t *origin;  /* [len] origin of each byte; owned; used if track is 1 */
    size_t len;      /* length of the text in bytes */
    size_t capacity; /* capacity of data, and of origin if track is 1 */
    int track;       /* 1: keep origins; set before the first use */
} aoei_normalized;

/* Reserves memory for `more` bytes after the text. Returns -1 if out of memory. */
int aoei_normalized_reserve(aoei_normalized *out, size_t more);
/* Append n bytes, or the UTF-8 form of a code point, with one origin. Return -1 if out of memory. */
int aoei_normalized_put(aoei_normalized *out, const char *s, size_t n, size_t origin);
int aoei_normalized_put_cp(aoei_normalized *out, uint32_t cp, size_t origin);
/* Appends s[from, to) unchanged. The origin of byte i is origin[i]; if origin is NULL, it is the offset in s of the
 * character that byte i belongs to. Returns -1 if out of memory. */
int aoei_normalized_copy(aoei_normalized *out, const char *s, size_t from, size_t to, const size_t *origin);
/* Writes the zero bytes after the text. Returns -1 if out of memory. */
int aoei_normalized_end(aoei_normalized *out);
void aoei_normalized_free(aoei_normalized *out); /* accepts a zeroed struct */

#endif
