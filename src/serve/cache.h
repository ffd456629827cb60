/* SPDX-License-Identifier: MIT
 * Embeddings of recent texts. Applications embed the same query again and again. The key of an embedding is the text
 * with everything that its vector depends on (the model and the settings of the request), and is compared byte by byte,
 * so two texts never share a vector. The least recently used embeddings are removed when the memory is used up. All
 * functions may be called by several threads at the same time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_cache aoei_cache;

/* What is stored of a text, besides its vector. */
typedef struct aoei_cached {
    uint32_t tokens;
    uint8_t truncated;
} aoei_cached;

/* Creates a cache that uses at most `bytes` bytes. Errors: AOE_ENOMEM. */
int aoei_cache_create(aoei_cache **cache, size_t bytes, aoe_error *err);
void aoei_cache_destroy(aoei_cache *cache); /* accepts NULL */
/* Copies the vector of a text to v[dims] and returns 1, or returns 0 if the cache does not contain it. settings: bytes
 * that identify the model and the settings. */
int aoei_cache_get(aoei_cache *cache, aoe_text settings, aoe_text text, float *v, size_t dims, aoei_cached *found);
/* Stores the vector v[dims] of a text. Does nothing if memory runs out. */
void aoei_cache_put(aoei_cache *cache, aoe_text settings, aoe_text text, const float *v, size_t dims,
                    const aoei_cached *stored);
size_t aoei_cache_bytes(aoei_cache *cache); /* used memory */
