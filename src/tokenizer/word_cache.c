/* SPDX-License-Identifier: MIT
 * Implements the cache as a hash table with open addressing and a fixed number of slots. Words are never removed,
 * because nearly all frequent words occur early in the texts and are then in the cache. A memory page uses physical
 * memory only after one of its slots was filled.
 */
#include "tokenizer/word_cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { SLOTS_LOG2 = 15, SLOTS = 1 << SLOTS_LOG2, PROBES = 4 };
enum { FREE, FILLING, FIRST_TAG }; /* values of a tag; a slot is complete if its tag is at least FIRST_TAG */

int aoei_word_cache_create(aoei_word_cache *c, aoe_error *err) {
    c->memory = aoei_calloc(SLOTS + PROBES + 1, sizeof *c->slot);
    c->tag = aoei_calloc(SLOTS + PROBES, sizeof *c->tag);
    if (!c->memory || !c->tag)
        return aoei_fail_nomem(err, (SLOTS + PROBES + 1) * sizeof *c->slot);
    /* Move c->slot to a multiple of the slot size, so that each slot is in only one cache line. */
    const size_t past = (size_t)((uintptr_t)c->memory % sizeof *c->slot);
    c->slot = (aoei_cached_word *)(void *)((char *)c->memory + (past ? sizeof *c->slot - past : 0));
    return 0;
}

void aoei_word_cache_free(aoei_word_cache *c) {
    aoei_free(c->memory);
    aoei_free(c->tag);
    *c = (aoei_word_cache){0};
}

uint64_t aoei_word_cache_hash(const char *s, size_t len) {
    uint64_t h = len * UINT64_C(0x9E3779B97F4A7C15), word = 0;
    for (; len >= 8; s += 8, len -= 8) {
        memcpy(&word, s, 8);
        h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, s, len);
    h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

static size_t first_slot(uint64_t hash) {
    return (size_t)(hash * UINT64_C(0xD6E8FEB86659FD93) >> (64 - SLOTS_LOG2));
}

static uint16_t tag_of(uint64_t hash) {
    const uint16_t tag = (uint16_t)hash;
    return tag < FIRST_TAG ? FIRST_TAG : tag;
}

const aoei_cached_word *aoei_word_cache_find(const aoei_word_cache *c, uint64_t hash, const char *s, size_t len) {
    const uint16_t wanted = tag_of(hash);
    for (size_t i = first_slot(hash), end = i + PROBES; i < end; i++) {
        const uint16_t tag = atomic_load_explicit(&c->tag[i], memory_order_acquire);
        const aoei_cached_word *slot = &c->slot[i];
        if (tag == FREE)
            break;
        if (tag == wanted && slot->len == len && memcmp(slot->word, s, len) == 0)
            return slot;
    }
    return NULL;
}

void aoei_word_cache_add(const aoei_word_cache *c, uint64_t hash, const char *s, size_t len, const int32_t *token,
                         size_t n) {
    for (size_t i = first_slot(hash), end = i + PROBES; i < end; i++) {
        uint16_t tag = FREE;
        aoei_cached_word *slot = &c->slot[i];
        if (!atomic_compare_exchange_strong_explicit(&c->tag[i], &tag, FILLING, memory_order_relaxed,
                                                     memory_order_relaxed))
            continue;
        slot->len = (unsigned char)len;
        slot->n_tokens = (unsigned char)n;
        memcpy(slot->word, s, len);
        memcpy(slot->token, token, n * sizeof *token);
        atomic_store_explicit(&c->tag[i], tag_of(hash), memory_order_release);
        return;
    }
}
