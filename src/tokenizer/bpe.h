/* SPDX-License-Identifier: MIT
 * Step four of a tokenizer, byte-pair encoding: a word is a row of characters, and
 * of all neighbours the pair of the lowest rank is merged, the leftmost first,
 * until no two neighbours have one. Time is n log n in the length of the word.
 */
#ifndef AOEI_TOKENIZER_BPE_H
#define AOEI_TOKENIZER_BPE_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "tokenizer/token_list.h"
#include "tokenizer/vocab.h"
#include "tokenizer/word_cache.h"
#include "tokenizer/words.h"

typedef struct aoei_merge {
    uint64_t pair; /* left id * 2^32 + right id */
    uint32_t rank;
    int32_t id; /* of the token they make; -1: the slot is empty */
} aoei_merge;

/* Pairs of ids, by open addressing; at most half full. */
typedef struct aoei_merge_table {
    aoei_merge *slot; /* [2^(64 - shift)], owned; NULL: there is no merge */
    unsigned shift;
} aoei_merge_table;

typedef struct aoei_bpe {
    aoei_vocab vocab;        /* owned */
    aoei_merge_table merges; /* owned */
    int byte_fallback;       /* a character that is no token is spelled in bytes, <0x41> */
    int fuse_unk;            /* unknown characters in a row are one unknown token */
    int ignore_merges;       /* a word that is a token is that token, whatever the merges */
    int has_unk;             /* there is an unknown token; without one, unknown characters are left out */
    int32_t unk;             /* its id; -1: the vocabulary lacks it, and needing it is an error */
    char *prefix, *suffix;   /* [..._len] of characters inside of a word, and of its last one; owned, NULL when empty */
    size_t prefix_len, suffix_len;
    uint32_t prefix_node;   /* of the vocabulary's trie; 0: no token begins with the prefix */
    int32_t fallback[256];  /* ids of <0x00> to <0xFF>; -1: none */
    int32_t letter_id[256]; /* ids of the letters of bytes; -1: none */
    int raw_bytes;          /* words come as they are, and their bytes mean letters */
    char apart[5];          /* [apart_len] no merge joins this character to another one before it: words are cut there */
    size_t apart_len;
    aoei_word_cache cache; /* owned */
} aoei_bpe;

/* What encoding works in; zeroed at first, kept from word to word. */
typedef struct aoei_bpe_symbol {
    int32_t id;          /* -1: merged into the one before it */
    uint32_t prev, next; /* index; UINT32_MAX: none */
    size_t start, end;   /* bytes of the text */
} aoei_bpe_symbol;

typedef struct aoei_bpe_candidate {
    uint32_t rank, at; /* index of the left symbol */
    int32_t id;
} aoei_bpe_candidate;

typedef struct aoei_bpe_scratch {
    aoei_bpe_symbol *symbol; /* [n], owned */
    size_t n, capacity;
    aoei_bpe_candidate *heap; /* [n_heap], owned: the lowest rank, then the leftmost, on top */
    size_t n_heap, heap_capacity;
} aoei_bpe_scratch;

/* As aoei_wordpiece_encode. AOE_ENOMEM; AOE_EFORMAT: an unknown character, and the unknown token is none. */
int aoei_bpe_encode(const aoei_bpe *b, const aoei_words *words, size_t stop, aoei_token_list *out, aoei_bpe_scratch *scratch,
                    aoe_error *err);
void aoei_bpe_scratch_free(aoei_bpe_scratch *s);

static inline uint64_t aoei_merge_key(int32_t left, int32_t right) {
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* The merge of two tokens, or NULL. */
static inline const aoei_merge *aoei_merge_find(const aoei_merge_table *t, int32_t left, int32_t right) {
    const uint64_t pair = aoei_merge_key(left, right);
    if (!t->slot)
        return NULL;
    const uint64_t mask = UINT64_MAX >> t->shift;
    for (uint64_t i = (pair * UINT64_C(0x9E3779B97F4A7C15)) >> t->shift;; i = (i + 1) & mask) {
        const aoei_merge *m = &t->slot[i];
        if (m->pair == pair && m->id >= 0)
            return m;
        if (m->id < 0)
            return NULL;
    }
}

#endif
