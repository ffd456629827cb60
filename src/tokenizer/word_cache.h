/* SPDX-License-Identifier: MIT
 * Short words and the tokens they came to, kept by the first text that holds
 * them for all later ones. What is in it never changes a result, only the time it
 * takes. Words are added and found by any number of threads without locks: a
 * place is taken once and then read-only, and there are no more places than these.
 */
#ifndef AOEI_TOKENIZER_WORD_CACHE_H
#define AOEI_TOKENIZER_WORD_CACHE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

enum {
    AOEI_CACHED_BYTES = 28, /* of a word */
    AOEI_CACHED_TOKENS = 8
};

/* One cache line. */
typedef struct aoei_cached_word {
    unsigned char len, n_tokens;       /* bytes and tokens */
    char word[AOEI_CACHED_BYTES + 2];  /* [len] */
    int32_t token[AOEI_CACHED_TOKENS]; /* [n_tokens] */
} aoei_cached_word;

typedef struct aoei_word_cache {
    _Atomic uint16_t *tag;  /* owned: by slot, part of the hash of its word; 0: free, 1: being filled */
    aoei_cached_word *slot; /* in memory; one with a tag is read-only */
    void *memory;           /* owned */
} aoei_word_cache;

int aoei_word_cache_create(aoei_word_cache *c, aoe_error *err);
void aoei_word_cache_free(aoei_word_cache *c); /* accepts a zeroed one */

uint64_t aoei_word_cache_hash(const char *s, size_t len);
/* The word with its tokens, or NULL; len from 1 to AOEI_CACHED_BYTES. */
const aoei_cached_word *aoei_word_cache_find(const aoei_word_cache *c, uint64_t hash, const char *s, size_t len);
/* Adds a word that was not found, when there is a place for it; n is at most AOEI_CACHED_TOKENS. */
void aoei_word_cache_add(const aoei_word_cache *c, uint64_t hash, const char *s, size_t len, const int32_t *token, size_t n);

#endif
