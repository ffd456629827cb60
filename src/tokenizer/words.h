/* SPDX-License-Identifier: MIT
 * The batches of words that a pre-tokenizer passes to a subword model.
 */
#pragma once

#include <stddef.h>

enum { AOEI_WORDS = 64 };

/* A batch of words, as byte ranges of a text. */
typedef struct aoei_words {
    size_t n;                                          /* number of words */
    size_t start[AOEI_WORDS + 1], end[AOEI_WORDS + 1]; /* [n] byte range of each word in s; the last element is
                                                          workspace */
    const char *s;        /* text, borrowed; AOEI_NORMALIZED_SLACK readable bytes follow the last word */
    const size_t *origin; /* offset in the raw text for each byte of s, borrowed; NULL: not tracked */
} aoei_words;
