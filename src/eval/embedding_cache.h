/* SPDX-License-Identifier: MIT
 * A hash table of texts and their embeddings.
 */
#pragma once

#include "aoe.h"
#include "base/text_store.h"

/* A text of the cache. */
typedef struct aoei_cached_embedding {
    aoe_text text;       /* copy of the text, in aoei_embedding_cache.store */
    const float *vector; /* embedding before it is truncated, in a block of the cache; NULL until it has been
                            computed */
    aoe_text_info info;  /* properties of the text; set together with `vector` */
} aoei_cached_embedding;

/* A zeroed struct is an empty cache. */
typedef struct aoei_embedding_cache {
    aoei_cached_embedding *entry; /* [n] texts in the order in which they were added, owned */
    size_t n, capacity;           /* used and allocated elements of `entry` */
    size_t *slot;                 /* [slots] hash table: 1 + the index of an entry, or 0 for an empty slot; owned */
    size_t slots;                 /* a power of two, more than n, or 0 */
    float **block;                /* [blocks] arrays of embeddings, owned */
    size_t blocks, block_capacity;
    aoei_chunks store; /* copies of the texts, owned */
} aoei_embedding_cache;

/* Sets *index to the entry of the text. If there is none, adds one, whose vector is NULL. Errors: AOE_ENOMEM. */
int aoei_embedding_cache_find(aoei_embedding_cache *c, aoe_text text, size_t *index, aoe_error *err);
/* Allocates a block of n * dims floats, which the cache owns. Returns NULL if an allocation fails. */
float *aoei_embedding_cache_block(aoei_embedding_cache *c, size_t n, size_t dims, aoe_error *err);
void aoei_embedding_cache_clear(aoei_embedding_cache *c); /* removes all texts and frees their memory; accepts a zeroed
                                                             struct */
