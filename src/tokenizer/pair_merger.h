/* SPDX-License-Identifier: MIT
 * The heart of byte-pair training: words as sequences of symbols, the counts of
 * neighbouring pairs kept up to date while pairs are merged, and the most
 * frequent pair at hand. Knows nothing of the symbols' texts.
 */
#ifndef AOEI_TOKENIZER_PAIR_MERGER_H
#define AOEI_TOKENIZER_PAIR_MERGER_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_pair {
    uint32_t left, right; /* symbols */
    uint64_t count;       /* occurrences, each as often as its word */
    uint32_t *word;       /* [n_words], owned: words that hold or held the pair */
    size_t n_words, capacity;
    size_t stamp; /* the last merge that raised the count */
} aoei_pair;

typedef struct aoei_pair_word {
    size_t offset;  /* of its symbols */
    uint32_t n;     /* symbols left */
    uint64_t count; /* times the word was seen */
} aoei_pair_word;

typedef struct aoei_pair_entry {
    uint64_t count; /* of the pair when the entry was made; a stale one is put back with the count of now */
    uint32_t left, right;
    uint32_t pair; /* index */
} aoei_pair_entry;

typedef struct aoei_pair_merger {
    uint32_t *symbol; /* [n_symbols], owned: the words' symbols end to end */
    size_t n_symbols, symbol_capacity;
    aoei_pair_word *word; /* [n_words], owned */
    size_t n_words, word_capacity;
    aoei_pair *pair; /* [n_pairs], owned */
    size_t n_pairs, pair_capacity;
    uint32_t *slot; /* [mask + 1], owned: hash table of pairs, index + 1, 0 empty */
    size_t mask;
    aoei_pair_entry *heap; /* [n_heap], owned: largest count first, then smallest symbols */
    size_t n_heap, heap_capacity;
    uint32_t *raised; /* [n_raised], owned: pairs the current merge made more frequent */
    size_t n_raised, raised_capacity;
    size_t stamp; /* number of the current merge, from 1 */
} aoei_pair_merger;

/* Adds a word of n symbols seen count times. AOE_ENOMEM. A zeroed merger is empty. */
int aoei_pair_merger_add(aoei_pair_merger *m, const uint32_t *symbol, size_t n, uint64_t count, aoe_error *err);
/* After the last word. AOE_ENOMEM. */
int aoei_pair_merger_start(aoei_pair_merger *m, aoe_error *err);
/* Takes out the most frequent pair (ties: smallest left, then right symbol): 1, or 0 when none is left. */
int aoei_pair_merger_best(aoei_pair_merger *m, uint32_t *left, uint32_t *right, uint64_t *count);
/* Replaces the pair by `merged` in every word, left to right. AOE_ENOMEM. */
int aoei_pair_merger_merge(aoei_pair_merger *m, uint32_t left, uint32_t right, uint32_t merged, aoe_error *err);
void aoei_pair_merger_free(aoei_pair_merger *m);

#endif
