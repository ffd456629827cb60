/* SPDX-License-Identifier: MIT
 * A hash table of short words that are single tokens. A search in this table is faster than a search in the trie of the
 * vocabulary. The trie contains every token, so the table may omit words. It omits long words, and words for which none
 * of the first AOEI_WORD_TABLE_PROBES slots was free. The number of probes is therefore bounded for every vocabulary.
 * Several threads may read a table.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "aoe.h"
#include "tokenizer/vocab.h"

enum {
    AOEI_WORD_TABLE_LONGEST = 12, /* maximum length of a word in bytes */
    AOEI_WORD_TABLE_READ = 16,    /* bytes that must be readable at the start of a word, whatever its length */
    AOEI_WORD_TABLE_PROBES = 8    /* maximum number of slots searched for a word */
};

/* A word, stored in 16 bytes, so that a table of many thousands of words fits in the L2 cache. */
typedef struct aoei_word_slot {
    uint64_t head;   /* bytes 0 to 7 of the word, padded with zeros */
    uint32_t tail;   /* bytes 8 to 11 of the word, padded with zeros */
    uint32_t len_id; /* length in bytes in the upper 8 bits and token id in the lower 24; 0: empty slot */
} aoei_word_slot;

typedef struct aoei_word_table {
    aoei_word_slot *slot; /* [2^(64 - shift) + AOEI_WORD_TABLE_PROBES] slots, owned */
    unsigned shift;       /* 64 - log2(number of slots that a hash can select) */
} aoei_word_table;

/* A word, and the position at which the search for this word begins. */
typedef struct aoei_word_place {
    aoei_word_slot word;        /* the word, without an id */
    const aoei_word_slot *slot; /* first slot to search, borrowed */
} aoei_word_place;

/* Fills a zeroed table with the tokens of a vocabulary that have at most `longest` bytes and do not begin with
 * `prefix`, the prefix of continuation pieces. Errors: AOE_ENOMEM. */
int aoei_word_table_build(aoei_word_table *t, const aoei_vocab *v, size_t longest, aoe_text prefix, aoe_error *err);
void aoei_word_table_free(aoei_word_table *t); /* accepts a zeroed struct */

static inline uint64_t aoei_word_load(const char *s) { /* little-endian load; a single instruction on little-endian
                                                          CPUs */
    const unsigned char *p = (const unsigned char *)s;
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 |
           (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

/* Prepares the search for the word s[len] in a table that aoei_word_table_build has filled. len must be positive.
 * AOEI_WORD_TABLE_READ bytes are always read, which avoids an unpredictable branch on the length. A word that is too
 * long for the table gets the length 255, which no slot has. */
static inline aoei_word_place aoei_word_table_place(const aoei_word_table *t, const char *s, size_t len) {
    const size_t in_head = len < 8 ? len : 8, in_tail = len < 8 ? 0 : len < AOEI_WORD_TABLE_LONGEST ? len - 8 : 4;
    const aoei_word_slot w = {
        .head = aoei_word_load(s) & (UINT64_MAX >> (64 - 8 * in_head)),
        .tail = (uint32_t)(aoei_word_load(s + 8) & ((UINT64_C(1) << (8 * in_tail)) - 1)),
        .len_id = (uint32_t)(len <= AOEI_WORD_TABLE_LONGEST ? len : 255) << 24,
    };
    const uint64_t hash = (w.head ^ (uint64_t)(w.tail ^ w.len_id) << 29) * UINT64_C(0x9E3779B97F4A7C15);
    return (aoei_word_place){.word = w, .slot = t->slot + (hash >> t->shift)};
}

/* Returns the id of the word p.word, or -1 if the word is not in the table. */
static inline int32_t aoei_word_table_at(aoei_word_place p) {
    for (const aoei_word_slot *slot = p.slot, *end = slot + AOEI_WORD_TABLE_PROBES; slot < end && slot->len_id != 0;
         slot++)
        if (slot->head == p.word.head && slot->tail == p.word.tail && (slot->len_id ^ p.word.len_id) < 1u << 24)
            return (int32_t)(slot->len_id & 0xFFFFFF);
    return -1;
}
