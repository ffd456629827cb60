/* SPDX-License-Identifier: MIT
 * A cache of short words and their tokens, shared by all texts. It makes encoding faster and does not change results.
 * Any number of threads can add and find words without locks, because a slot is filled only once and is read-only
 * afterwards. If no slot is free for a word, the word is not added.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

enum {
    AOEI_CACHED_BYTES = 28, /* maximum length of a word in bytes */
    AOEI_CACHED_TOKENS = 8  /* maximum number of tokens in a word */
};

/* A cached word. Its size is one cache line. */
typedef struct aoei_cached_word {
    unsigned char len, n_tokens;       /* length of the word in bytes, and number of its tokens */
    char word[AOEI_CACHED_BYTES + 2];  /* [len] text of the word */
    int32_t token[AOEI_CACHED_TOKENS]; /* [n_tokens] token ids */
} aoei_cached_word;

typedef struct aoei_word_cache {
    /* One tag per slot, owned. 0: the slot is free; 1: a thread is filling the slot; otherwise 16 bits of the hash of
     * the word in the slot. */
    _Atomic uint16_t *tag;
    aoei_cached_word *slot; /* aligned slots inside `memory`; a slot is read-only after it was filled */
    void *memory;           /* allocation that contains the slots, owned */
} aoei_word_cache;

int aoei_word_cache_create(aoei_word_cache *c, aoe_error *err);
void aoei_word_cache_free(aoei_word_cache *c); /* accepts a zeroed struct */

uint64_t aoei_word_cache_hash(const char *s, size_t len);
/* Returns the cached word s[len], or NULL if the word is not in the cache. hash: aoei_word_cache_hash(s, len). len must
 * be 1 to AOEI_CACHED_BYTES. */
const aoei_cached_word *aoei_word_cache_find(const aoei_word_cache *c, uint64_t hash, const char *s, size_t len);
/* Adds the word s[len] with its tokens token[n], if a slot is free. Must only be called if aoei_word_cache_find did not
 * find the word. n must be at most AOEI_CACHED_TOKENS. */
void aoei_word_cache_add(const aoei_word_cache *c, uint64_t hash, const char *s, size_t len, const int32_t *token,
                         size_t n);
