/* SPDX-License-Identifier: MIT
 * The pair counts of byte-pair training. Words are sequences of symbols. The merger keeps the counts of adjacent pairs up to
 * date while pairs are merged, and finds the most frequent pair. It does not know the symbols' texts.
 */
#ifndef AOEI_TOKENIZER_PAIR_MERGER_H
#define AOEI_TOKENIZER_PAIR_MERGER_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_pair {
    uint32_t left, right; /* the two symbols */
    uint64_t count;       /* occurrences, weighted by the counts of the words */
    uint32_t *word;       /* [n_words] indices of words that contain or contained the pair; owned */
    size_t n_words, capacity;
    size_t stamp; /* number of the last merge that raised the count */
} aoei_pair;

typedef struct aoei_pair_word {
    size_t offset;  /* index of its first symbol */
    uint32_t n;     /* number of symbols */
    uint64_t count; /* occurrences of the word */
} aoei_pair_word;

typedef struct aoei_pair_entry {
    uint64_t count; /* count of the pair when the entry was made; an outdated entry is reinserted with the current count */
    uint32_t left, right;
    uint32_t pair; /* index of the pair */
} aoei_pair_entry;

typedef struct aoei_pair_merger {
    uint32_t *symbol; /* [n_symbols] symbols of all words, concatenated; owned */
    size_t n_symbols, symbol_capacity;
    aoei_pair_word *word; /* [n_words] owned */
    size_t n_words, word_capacity;
    aoei_pair *pair; /* [n_pairs] owned */
    size_t n_pairs, pair_capacity;
    uint32_t *slot; /* [mask + 1] hash table: index of a pair + 1, or 0 if empty; owned */
    size_t mask;
    aoei_pair_entry *heap; /* [n_heap] largest count first, then smallest symbols; owned */
    size_t n_heap, heap_capacity;
    uint32_t *raised; /* [n_raised] pairs whose count the current merge raised; owned */
    size_t n_raised, raised_capacity;
    size_t stamp; /* number of the current merge, starting at 1 */
} aoei_pair_merger;

/* Adds a word of n symbols that occurs count times. A zeroed merger is empty. Errors: AOE_ENOMEM. */
int aoei_pair_merger_add(aoei_pair_merger *m, const uint32_t *symbol, size_t n, uint64_t count, aoe_error *err);
/* Starts merging. Call it after adding the last word. Errors: AOE_ENOMEM. */
int aoei_pair_merger_start(aoei_pair_merger *m, aoe_error *err);
/* Removes the most frequent pair and returns 1; ties go to the smallest left symbol, then the smallest right symbol. Returns
 * 0 if no pair is left. */
int aoei_pair_merger_best(aoei_pair_merger *m, uint32_t *left, uint32_t *right, uint64_t *count);
/* Replaces the pair by `merged` in every word, from left to right. Errors: AOE_ENOMEM. */
int aoei_pair_merger_merge(aoei_pair_merger *m, uint32_t left, uint32_t right, uint32_t merged, aoe_error *err);
void aoei_pair_merger_free(aoei_pair_merger *m);

#endif
