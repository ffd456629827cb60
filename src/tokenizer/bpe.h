/* SPDX-License-Identifier: MIT
 * Byte-pair encoding (BPE). A word starts as a sequence of characters. The adjacent pair with the lowest rank is merged, the
 * leftmost first, until no adjacent pair has a merge. The time is O(n log n) for a word of n characters.
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
    int32_t id; /* id of the merged token; -1: the slot is empty */
} aoei_merge;

/* Hash table from pairs of ids to merges, with open addressing; at most half full. */
typedef struct aoei_merge_table {
    aoei_merge *slot; /* [2^(64 - shift)] owned; NULL: no merges */
    unsigned shift;
} aoei_merge_table;

typedef struct aoei_bpe {
    aoei_vocab vocab;        /* owned */
    aoei_merge_table merges; /* owned */
    int byte_fallback;       /* 1: a character without a token is encoded as byte tokens, <0x41> */
    int fuse_unk;            /* 1: consecutive unknown characters become one unknown token */
    int ignore_merges;       /* 1: a word that is a token is not split, whatever the merges */
    int has_unk;             /* 1: the model names an unknown token; 0: unknown characters are dropped */
    int32_t unk;             /* id of the unknown token; -1: the vocabulary lacks it, and using it is an error */
    char *prefix, *suffix;   /* [prefix_len] prefix of characters inside a word, and [suffix_len] suffix of the last one; owned,
                                NULL if empty */
    size_t prefix_len, suffix_len;
    uint32_t prefix_node;   /* trie node of the prefix in the vocabulary; 0: no token begins with the prefix */
    int32_t fallback[256];  /* ids of <0x00> to <0xFF>; -1: no token */
    int32_t letter_id[256]; /* ids of the letters that represent bytes; -1: no token */
    int raw_bytes;          /* 1: words are raw bytes, which the model maps to letters itself */
    char apart[5]; /* [apart_len] a character that no merge joins to a preceding different character; long words are split there
                    */
    size_t apart_len;
    aoei_word_cache cache; /* owned */
} aoei_bpe;

/* A symbol of the word that is being encoded. Zeroed initially, reused from word to word. */
typedef struct aoei_bpe_symbol {
    int32_t id;          /* token id; -1: merged into the preceding symbol */
    uint32_t prev, next; /* indices of the neighbors; UINT32_MAX: none */
    size_t start, end;   /* byte range in the text */
} aoei_bpe_symbol;

typedef struct aoei_bpe_candidate {
    uint32_t rank, at; /* rank of the merge, and index of the left symbol */
    int32_t id;
} aoei_bpe_candidate;

typedef struct aoei_bpe_scratch {
    aoei_bpe_symbol *symbol; /* [n] owned */
    size_t n, capacity;
    aoei_bpe_candidate *heap; /* [n_heap] owned; the lowest rank is on top, and the leftmost of equal ranks */
    size_t n_heap, heap_capacity;
} aoei_bpe_scratch;

/* Same contract as aoei_wordpiece_encode. Errors: AOE_ENOMEM; AOE_EFORMAT if a character is unknown and the unknown token is
 * not in the vocabulary. */
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
