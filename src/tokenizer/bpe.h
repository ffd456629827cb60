/* SPDX-License-Identifier: MIT
 * Byte-pair encoding (BPE). A word is first divided into characters. A list of merges gives the pairs that can be
 * merged, and the position in this list is the rank of a merge. Among all adjacent pairs, the pair whose merge has the
 * lowest rank is merged. If this pair occurs several times, its leftmost occurrence is merged. This is repeated until
 * no adjacent pair can be merged. The time is O(n log n) for a word of n characters.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "tokenizer/token_list.h"
#include "tokenizer/vocab.h"
#include "tokenizer/word_cache.h"
#include "tokenizer/words.h"

typedef struct aoei_merge {
    uint64_t pair; /* left id * 2^32 + right id */
    uint32_t rank; /* position in the list of merges; lower ranks are merged first */
    int32_t id;    /* id of the merged token; -1: the slot is empty */
} aoei_merge;

/* A hash table with open addressing that maps pairs of ids to merges. At most half of its slots are used. */
typedef struct aoei_merge_table {
    aoei_merge *slot; /* [2^(64 - shift)] slots, owned; NULL if there are no merges */
    unsigned shift;   /* 64 - log2(number of slots) */
} aoei_merge_table;

typedef struct aoei_bpe {
    aoei_vocab vocab;        /* vocabulary; owned */
    aoei_trie trie;          /* the tokens of the vocabulary; owned */
    aoei_merge_table merges; /* merges of all pairs of ids; owned */
    int byte_fallback;       /* 1: a character without a token is encoded as byte tokens such as <0x41> */
    int fuse_unk;            /* 1: consecutive unknown characters become one unknown token */
    int ignore_merges;       /* 1: a word that is a token becomes this token, without merges */
    int has_unk;             /* 1: the model names an unknown token; 0: unknown characters are dropped */
    int32_t unk;  /* id of the unknown token; -1: not in the vocabulary, so encoding an unknown character fails */
    char *prefix; /* [prefix_len] prefix of all characters of a word except the first; owned, NULL if empty */
    char *suffix; /* [suffix_len] suffix of the last character of a word; owned, NULL if empty */
    size_t prefix_len, suffix_len; /* lengths in bytes */
    uint32_t prefix_node;          /* trie node of the prefix in the vocabulary; 0: no token begins with the prefix */
    int32_t fallback[256];         /* ids of the byte tokens <0x00> to <0xFF>; -1: not in the vocabulary */
    int32_t letter_id[256]; /* ids of the letters that represent bytes (byte_letters.h); -1: not in the vocabulary */
    int raw_bytes;          /* 1: words contain raw bytes, and the model maps the bytes to letters; 0: words contain
                               characters */
    /* UTF-8 form of a character before which words are split; "": words are not split. The split does not change the
     * tokens, because no merge joins this character to a different preceding character. */
    char split_letter[5];
    size_t split_letter_len; /* length in bytes */
    aoei_word_cache cache;   /* tokens of words that were encoded before; owned */
} aoei_bpe;

/* A symbol of the word that is being encoded. */
typedef struct aoei_bpe_symbol {
    int32_t id;          /* token id; -1: merged into the preceding symbol */
    uint32_t prev, next; /* indices of the neighboring symbols; UINT32_MAX: no neighbor */
    size_t start, end;   /* byte range in the text */
} aoei_bpe_symbol;

typedef struct aoei_bpe_candidate {
    uint32_t rank; /* rank of the merge */
    uint32_t at;   /* index of the left symbol */
    int32_t id;    /* id of the merged token */
} aoei_bpe_candidate;

typedef struct aoei_bpe_scratch {
    aoei_bpe_symbol *symbol; /* [n] symbols of the word; owned */
    size_t n, capacity;
    aoei_bpe_candidate *heap; /* [n_heap] possible merges, owned; the candidate with the lowest rank is on top; if ranks
                                 are equal, the leftmost candidate is on top */
    size_t n_heap, heap_capacity;
} aoei_bpe_scratch;

/* Appends the tokens of the words to `out` and stops as soon as `out` has at least `stop` tokens. Errors: AOE_ENOMEM;
 * AOE_EFORMAT if a character is unknown and the unknown token is not in the vocabulary. */
int aoei_bpe_encode(const aoei_bpe *b, const aoei_words *words, size_t stop, aoei_token_list *out,
                    aoei_bpe_scratch *scratch, aoe_error *err);
void aoei_bpe_scratch_free(aoei_bpe_scratch *s);

static inline uint64_t aoei_merge_key(int32_t left, int32_t right) {
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* Returns the merge of two tokens, or NULL if they cannot be merged. */
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
