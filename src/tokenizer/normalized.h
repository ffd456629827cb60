/* SPDX-License-Identifier: MIT
 * Text on its way through a tokenizer: bytes, and for each of them where in the
 * raw text it comes from, when somebody wants to know. Normalisers and
 * pre-tokenizers write it; what is read behind its end is zeros, not garbage.
 */
#ifndef AOEI_TOKENIZER_NORMALIZED_H
#define AOEI_TOKENIZER_NORMALIZED_H

#include <stddef.h>
#include <stdint.h>

#define AOEI_NORMALIZED_SLACK 16 /* zero bytes behind normalised text, for readers that take several at once */

/* Output, reused from piece to piece. */
typedef struct aoei_normalized {
    char *data;      /* [len + AOEI_NORMALIZED_SLACK], owned */
    size_t *origin;  /* [len], owned, when track is set: byte offset in the input of the character a byte comes from */
    size_t len;      /* bytes */
    size_t capacity; /* of data, and of origin when track is set */
    int track;       /* set before the first use */
} aoei_normalized;

/* Room for `more` bytes behind the text; -1: no memory. */
int aoei_normalized_reserve(aoei_normalized *out, size_t more);
/* Appends n bytes that all come from `origin`; -1: no memory. */
int aoei_normalized_put(aoei_normalized *out, const char *s, size_t n, size_t origin);
int aoei_normalized_put_cp(aoei_normalized *out, uint32_t cp, size_t origin);
/* Appends s[from, to) as it is. A byte comes from where origin says, NULL: from its own character in s. -1: no memory. */
int aoei_normalized_copy(aoei_normalized *out, const char *s, size_t from, size_t to, const size_t *origin);
/* Writes the zeros behind the text; -1: no memory. */
int aoei_normalized_end(aoei_normalized *out);
void aoei_normalized_free(aoei_normalized *out); /* accepts a zeroed one */

#endif
