/* SPDX-License-Identifier: MIT
 * The buffers that normalizers and pre-tokenizers write. A buffer contains the bytes of a text. If tracking is enabled,
 * it also contains the origin of each byte. The origin is the byte offset in the raw text of the character from which
 * the byte comes. Zero bytes follow the text, so that a load of several bytes at the end of the text does not read
 * outside the buffer.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define AOEI_NORMALIZED_SLACK 16 /* number of zero bytes after the text */

/* A text buffer. The caller zeroes it before the first use and may reuse it for other texts. */
typedef struct aoei_normalized {
    char *data;      /* [len + AOEI_NORMALIZED_SLACK] bytes, owned */
    size_t *origin;  /* [len] origin of each byte; owned; used if track is 1 */
    size_t len;      /* length of the text in bytes */
    size_t capacity; /* number of bytes that `data` can store, and number of elements of `origin` if track is 1 */
    int track;       /* 1: origins are stored; must be set before the first use */
} aoei_normalized;

/* Grows the buffer if necessary, so that `more` bytes can be appended without another allocation. Returns -1 if out of
 * memory. */
int aoei_normalized_reserve(aoei_normalized *out, size_t more);
/* aoei_normalized_put appends s[0, n), and aoei_normalized_put_cp appends the UTF-8 form of a code point. All appended
 * bytes get the origin `origin`. Both functions return -1 if out of memory. */
int aoei_normalized_put(aoei_normalized *out, const char *s, size_t n, size_t origin);
int aoei_normalized_put_cp(aoei_normalized *out, uint32_t cp, size_t origin);
/* Appends s[from, to) unchanged. Byte s[i] gets the origin origin[i]. If `origin` is NULL, byte s[i] gets the offset in
 * s of the character that it belongs to. Returns -1 if out of memory. */
int aoei_normalized_copy(aoei_normalized *out, const char *s, size_t from, size_t to, const size_t *origin);
/* Writes the zero bytes after the text. Returns -1 if out of memory. */
int aoei_normalized_end(aoei_normalized *out);
void aoei_normalized_free(aoei_normalized *out); /* accepts a zeroed struct */
