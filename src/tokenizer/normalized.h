/* SPDX-License-Identifier: MIT
 * Text that passes through a tokenizer: its bytes and, if tracking is enabled, the offset in the raw text that each byte
 * comes from. Normalizers and pre-tokenizers write it. Zero bytes follow its end, so that readers may load several bytes at
 * once.
 */
#ifndef AOEI_TOKENIZER_NORMALIZED_H
#define AOEI_TOKENIZER_NORMALIZED_H

#include <stddef.h>
#include <stdint.h>

#define AOEI_NORMALIZED_SLACK 16 /* number of zero bytes after the text */

/* Output text, reused from piece to piece. */
typedef struct aoei_normalized {
    char *data;      /* [len + AOEI_NORMALIZED_SLACK] bytes, owned */
    size_t *origin;  /* [len] byte offset in the input of the character that each byte comes from; owned; used if track is 1 */
    size_t len;      /* length in bytes */
    size_t capacity; /* capacity of data, and of origin if track is 1 */
    int track;       /* 1: keep origins; set before the first use */
} aoei_normalized;

/* Reserves memory for `more` bytes after the text. Returns -1 if out of memory. */
int aoei_normalized_reserve(aoei_normalized *out, size_t more);
/* Appends n bytes that all come from `origin`. Returns -1 if out of memory. */
int aoei_normalized_put(aoei_normalized *out, const char *s, size_t n, size_t origin);
int aoei_normalized_put_cp(aoei_normalized *out, uint32_t cp, size_t origin);
/* Appends s[from, to) unchanged. origin[i] is the origin of byte i; NULL: each byte comes from its own character in s.
 * Returns -1 if out of memory. */
int aoei_normalized_copy(aoei_normalized *out, const char *s, size_t from, size_t to, const size_t *origin);
/* Writes the zero bytes after the text. Returns -1 if out of memory. */
int aoei_normalized_end(aoei_normalized *out);
void aoei_normalized_free(aoei_normalized *out); /* accepts a zeroed one */

#endif
