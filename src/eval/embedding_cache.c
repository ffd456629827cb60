/* SPDX-License-Identifier: MIT
 * Implements the hash table of texts and their embeddings with linear probing. Entries are never removed one by one.
 */
#include "eval/embedding_cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"

/* Returns the slot of the text in the hash table: the slot of its entry, or the empty slot for a new entry. */
static size_t find_slot(const aoei_embedding_cache *c, aoe_text text) {
    size_t at = (size_t)aoei_hash(AOEI_HASH_START, text.data, text.len) & (c->slots - 1);
    for (; c->slot[at]; at = (at + 1) & (c->slots - 1)) {
        const aoe_text other = c->entry[c->slot[at] - 1].text;
        if (other.len == text.len && (!text.len || !memcmp(other.data, text.data, text.len)))
            break;
    }
    return at;
}

/* Doubles the size of the hash table, so that at most half of the slots are used. */
static int enlarge(aoei_embedding_cache *c, aoe_error *err) {
    const size_t slots = c->slots ? 2 * c->slots : 1024;
    size_t *slot = aoei_calloc(slots, sizeof *slot);
    if (!slot)
        return aoei_fail_nomem(err, slots * sizeof *slot);
    aoei_free(c->slot);
    c->slot = slot;
    c->slots = slots;
    for (size_t i = 0; i < c->n; i++)
        c->slot[find_slot(c, c->entry[i].text)] = i + 1;
    return AOE_OK;
}

int aoei_embedding_cache_find(aoei_embedding_cache *c, aoe_text text, size_t *index, aoe_error *err) {
    const int code = 2 * (c->n + 1) > c->slots ? enlarge(c, err) : AOE_OK;
    if (code)
        return code;
    const size_t at = find_slot(c, text);
    if (c->slot[at]) {
        *index = c->slot[at] - 1;
        return AOE_OK;
    }
    char *copy = aoei_chunks_take(&c->store, text.len ? text.len : 1);
    if (!copy || aoei_grow((void **)&c->entry, &c->capacity, c->n, sizeof *c->entry))
        return aoei_fail_nomem(err, text.len + sizeof *c->entry);
    if (text.len)
        memcpy(copy, text.data, text.len);
    c->entry[c->n] = (aoei_cached_embedding){.text = {copy, text.len}};
    *index = c->n++;
    c->slot[at] = c->n;
    return AOE_OK;
}

float *aoei_embedding_cache_block(aoei_embedding_cache *c, size_t n, size_t dims, aoe_error *err) {
    size_t floats;
    if (aoei_mul_size(n, dims, &floats))
        floats = SIZE_MAX; /* makes the allocation fail */
    float *block = aoei_malloc_array(floats ? floats : 1, sizeof *block);
    if (!block || aoei_grow((void **)&c->block, &c->block_capacity, c->blocks, sizeof *c->block)) {
        aoei_free(block);
        aoei_fail_nomem(err, floats);
        return NULL;
    }
    c->block[c->blocks++] = block;
    return block;
}

void aoei_embedding_cache_clear(aoei_embedding_cache *c) {
    for (size_t i = 0; i < c->blocks; i++)
        aoei_free(c->block[i]);
    aoei_free(c->block);
    aoei_free(c->entry);
    aoei_free(c->slot);
    aoei_chunks_free(&c->store);
    memset(c, 0, sizeof *c);
}
