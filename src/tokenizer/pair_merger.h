/* SPDX-License-Identifier: MIT
 * Pair counts for training a vocabulary with byte-pair merges. A word is a sequence of symbols, which are integers. The
 * merger keeps the counts of adjacent pairs up to date while pairs are merged, and finds the most frequent pair.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_pair {
    uint32_t left, right;     /* the two symbols */
    uint64_t count;           /* number of occurrences in all words, each weighted by the count of its word */
    uint32_t *word;           /* [n_words] indices of words that contain or contained the pair; owned */
    size_t n_words, capacity; /* length and capacity of word */
    size_t stamp;             /* number of the last merge that increased the count; merges are numbered from 1 */
} aoei_pair;

typedef struct aoei_pair_word {
    size_t offset;  /* index of the word's first symbol in aoei_pair_merger.symbol */
    uint32_t n;     /* number of symbols */
    uint64_t count; /* number of occurrences of the word in the texts */
} aoei_pair_word;

typedef struct aoei_pair_entry {
    /* count of the pair when the entry was created; an entry with an outdated count is reinserted with the current
     * count */
    uint64_t count;
    uint32_t left, right; /* symbols of the pair */
    uint32_t pair;        /* index of the pair in aoei_pair_merger.pair */
} aoei_pair_entry;

typedef struct aoei_pair_merger {
    uint32_t *symbol; /* [n_symbols] symbols of all words, concatenated; owned */
    size_t n_symbols, symbol_capacity;
    aoei_pair_word *word; /* [n_words] words in the order in which they were added; owned */
    size_t n_words, word_capacity;
    aoei_pair *pair; /* [n_pairs] all pairs that have occurred; owned */
    size_t n_pairs, pair_capacity;
    uint32_t *slot; /* [mask + 1] hash table: index of a pair + 1, or 0 if empty; owned */
    size_t mask;    /* number of slots - 1 */
    /* [n_heap] heap, owned. The pair with the largest count is on top. Among pairs with equal counts, the smallest
     * (left, right) in lexicographic order is on top. */
    aoei_pair_entry *heap;
    size_t n_heap, heap_capacity;
    uint32_t *raised; /* [n_raised] indices of the pairs whose count the current merge raised; owned */
    size_t n_raised, raised_capacity;
    size_t stamp; /* number of the current merge, starting at 1 */
} aoei_pair_merger;

/* Adds a word of n symbols that occurs `count` times in the texts. The caller zeroes *m before the first call. Errors:
 * AOE_ENOMEM. */
int aoei_pair_merger_add(aoei_pair_merger *m, const uint32_t *symbol, size_t n, uint64_t count, aoe_error *err);
/* Prepares the merger for aoei_pair_merger_best. Must be called after the last word has been added. Errors:
 * AOE_ENOMEM. */
int aoei_pair_merger_start(aoei_pair_merger *m, aoe_error *err);
/* Removes the most frequent pair from the heap, sets *left, *right and *count, and returns 1. If several pairs have the
 * largest count, the pair with the smallest left symbol is used. If several of these pairs have the same left symbol,
 * the pair with the smallest right symbol is used. Returns 0 if the heap is empty. */
int aoei_pair_merger_best(aoei_pair_merger *m, uint32_t *left, uint32_t *right, uint64_t *count);
/* Replaces every occurrence of the pair (left, right) with the symbol `merged`, in every word from left to right.
 * Errors: AOE_ENOMEM. */
int aoei_pair_merger_merge(aoei_pair_merger *m, uint32_t left, uint32_t right, uint32_t merged, aoe_error *err);
void aoei_pair_merger_free(aoei_pair_merger *m);
