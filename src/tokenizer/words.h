/* SPDX-License-Identifier: MIT
 * Words on their way from a pre-tokenizer to a model, a batch at a time; and the
 * pre-tokenizer of BERT, which finds them without a detour.
 */
#ifndef AOEI_TOKENIZER_WORDS_H
#define AOEI_TOKENIZER_WORDS_H

#include <stddef.h>

enum { AOEI_WORDS = 64 };

/* The words found in one go, as bytes of a text. */
typedef struct aoei_words {
    size_t n;
    size_t start[AOEI_WORDS + 1], end[AOEI_WORDS + 1]; /* [n], end excluded; the spare one is scratch */
    const char *s;        /* the text, borrowed; AOEI_NORMALIZED_SLACK bytes follow its last word */
    const size_t *origin; /* by byte of s, borrowed: where in the raw text; NULL: not tracked */
} aoei_words;

#endif
