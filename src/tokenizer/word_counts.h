/* SPDX-License-Identifier: MIT
 * A bag of words: each distinct word with how often it was seen.
 */
#ifndef AOEI_TOKENIZER_WORD_COUNTS_H
#define AOEI_TOKENIZER_WORD_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"

typedef struct aoei_word_count {
    size_t offset; /* of its text */
    uint32_t len;  /* bytes */
    uint32_t hash;
    uint64_t count; /* times seen */
} aoei_word_count;

typedef struct aoei_word_counts {
    aoei_buffer text;      /* the words end to end */
    aoei_word_count *word; /* [n], owned; in the order first seen */
    size_t n, capacity;
    uint32_t *slot; /* [mask + 1], owned: index + 1 of a word, 0 empty */
    size_t mask;    /* slots - 1; at most half of them are in use */
} aoei_word_counts;

/* Counts one occurrence of a word (len below 2^32). AOE_ENOMEM. */
int aoei_word_counts_add(aoei_word_counts *w, const char *word, size_t len, aoe_error *err);
void aoei_word_counts_free(aoei_word_counts *w); /* accepts a zeroed one */

#endif
