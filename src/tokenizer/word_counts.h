/* SPDX-License-Identifier: MIT
 * A multiset of words, which stores each distinct word with its number of occurrences.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"

typedef struct aoei_word_count {
    size_t offset; /* byte offset of the word in aoei_word_counts.text */
    uint32_t len;  /* length in bytes */
    uint32_t hash;
    uint64_t count; /* number of occurrences */
} aoei_word_count;

typedef struct aoei_word_counts {
    aoei_buffer text;      /* concatenated words; owned */
    aoei_word_count *word; /* [n] distinct words in the order of first occurrence; owned */
    size_t n, capacity;
    uint32_t *slot; /* [mask + 1] hash table: index of a word + 1, or 0 if empty; owned */
    size_t mask;    /* number of slots - 1; at most half of the slots are used */
} aoei_word_counts;

/* Adds one occurrence of the word word[len]. len must be below 2^32. Errors: AOE_ENOMEM. */
int aoei_word_counts_add(aoei_word_counts *w, const char *word, size_t len, aoe_error *err);
void aoei_word_counts_free(aoei_word_counts *w); /* accepts a zeroed struct */
