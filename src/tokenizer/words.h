/* SPDX-License-Identifier: MIT
 * A batch of words passed from a pre-tokenizer to a model.
 */
#ifndef AOEI_TOKENIZER_WORDS_H
#define AOEI_TOKENIZER_WORDS_H

#include <stddef.h>

enum { AOEI_WORDS = 64 };

/* A batch of words, as byte ranges of a text. */
typedef struct aoei_words {
    size_t n; /* number of words */
    size_t start[AOEI_WORDS + 1],
        end[AOEI_WORDS + 1]; /* [n] byte range of each word in s, end excluded; the extra element is workspace */
    const char *s;           /* text, borrowed; AOEI_NORMALIZED_SLACK bytes follow its last word */
    const size_t *origin;    /* origin in the raw text of each byte of s, borrowed; NULL: not tracked */
} aoei_words;

#endif
