/* SPDX-License-Identifier: MIT
 * The cache is a hash table with chains, whose entries also form a list from the most to the least recently used one.
 * An entry is one allocation: the vector, the settings and the text.
 */
#include "serve/cache.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mutex.h"

#include <string.h>
#include <sys/random.h>

enum {
    BYTES_PER_SLOT = 1024, /* memory of the cache for each slot of the table, about that of one entry */
    MIN_SLOTS = 16,
    MAX_SLOTS = 1 << 20
};

typedef struct entry entry;
struct entry {
    entry *chain;         /* next entry of the same slot */
    entry *newer, *older; /* neighbors in the order of use; NULL at the ends */
    uint64_t hash;
    size_t bytes; /* size of this allocation */
    size_t dims, n_settings, n_text;
    aoei_cached stored;
    float vector[]; /* [dims], then the bytes of the settings and of the text */
};

struct aoei_cache {
    aoei_mutex lock; /* protects all fields */
    entry **slot;    /* [n_slots] chains; owned */
    size_t n_slots;  /* a power of two */
    entry *newest, *oldest;
    size_t bytes, max_bytes;
    uint64_t seed; /* start of the hashes, so that clients cannot construct texts with equal hashes */
};

int aoei_cache_create(aoei_cache **cache, size_t bytes, aoe_error *err) {
    size_t slots = MIN_SLOTS;
    while (slots < MAX_SLOTS && slots * BYTES_PER_SLOT < bytes)
        slots *= 2;
    aoei_cache *c = *cache = aoei_calloc(1, sizeof *c);
    if (c)
        c->slot = aoei_calloc(slots, sizeof *c->slot);
    if (!c || !c->slot) {
        aoei_free(c);
        *cache = NULL;
        return aoei_fail_nomem(err, slots * sizeof *c->slot);
    }
    aoei_mutex_init(&c->lock);
    c->n_slots = slots;
    c->seed = AOEI_HASH_START;
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) == (ssize_t)sizeof random)
        c->seed ^= random;
    c->max_bytes = bytes;
    return AOE_OK;
}

void aoei_cache_destroy(aoei_cache *cache) {
    if (!cache)
        return;
    for (entry *e = cache->newest, *older; e; e = older) {
        older = e->older;
        aoei_free(e);
    }
    aoei_free(cache->slot);
    aoei_mutex_destroy(&cache->lock);
    aoei_free(cache);
}

static uint64_t hash_of(const aoei_cache *c, aoe_text settings, aoe_text text) {
    return aoei_hash(aoei_hash(c->seed, settings.data, settings.len), text.data, text.len);
}

static char *bytes_of(entry *e) {
    return (char *)(e->vector + e->dims);
}

/* Returns the address of the pointer to the entry of a text in its chain; the pointer is NULL if there is none. */
static entry **find(aoei_cache *c, uint64_t hash, aoe_text settings, aoe_text text) {
    entry **at = &c->slot[hash & (c->n_slots - 1)];
    for (; *at; at = &(*at)->chain) {
        entry *e = *at;
        if (e->hash == hash && e->n_settings == settings.len && e->n_text == text.len &&
            !memcmp(bytes_of(e), settings.data, settings.len) &&
            (!text.len || !memcmp(bytes_of(e) + settings.len, text.data, text.len)))
            break;
    }
    return at;
}

static void unlink_use(aoei_cache *c, entry *e) {
    *(e->newer ? &e->newer->older : &c->newest) = e->older;
    *(e->older ? &e->older->newer : &c->oldest) = e->newer;
}

static void make_newest(aoei_cache *c, entry *e) {
    e->newer = NULL;
    e->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
}

static void remove_oldest(aoei_cache *c) {
    entry *e = c->oldest, **at = &c->slot[e->hash & (c->n_slots - 1)];
    while (*at != e)
        at = &(*at)->chain;
    *at = e->chain;
    unlink_use(c, e);
    c->bytes -= e->bytes;
    aoei_free(e);
}

int aoei_cache_get(aoei_cache *cache, aoe_text settings, aoe_text text, float *v, size_t dims, aoei_cached *found) {
    const uint64_t hash = hash_of(cache, settings, text);
    aoei_mutex_lock(&cache->lock);
    entry *e = *find(cache, hash, settings, text);
    const int is_found = e && e->dims == dims;
    if (is_found) {
        memcpy(v, e->vector, dims * sizeof *v);
        *found = e->stored;
        unlink_use(cache, e);
        make_newest(cache, e);
    }
    aoei_mutex_unlock(&cache->lock);
    return is_found;
}

void aoei_cache_put(aoei_cache *cache, aoe_text settings, aoe_text text, const float *v, size_t dims,
                    const aoei_cached *stored) {
    const size_t bytes = sizeof(entry) + dims * sizeof *v + settings.len + text.len;
    if (bytes > cache->max_bytes)
        return;
    entry *e = aoei_malloc(bytes);
    if (!e)
        return;
    *e = (entry){.hash = hash_of(cache, settings, text),
                 .bytes = bytes,
                 .dims = dims,
                 .n_settings = settings.len,
                 .n_text = text.len,
                 .stored = *stored};
    memcpy(e->vector, v, dims * sizeof *v);
    memcpy(bytes_of(e), settings.data, settings.len);
    if (text.len)
        memcpy(bytes_of(e) + settings.len, text.data, text.len);
    aoei_mutex_lock(&cache->lock);
    entry **at = find(cache, e->hash, settings, text);
    if (*at) { /* another thread has stored the same text meanwhile */
        aoei_mutex_unlock(&cache->lock);
        aoei_free(e);
        return;
    }
    while (cache->oldest && cache->bytes + bytes > cache->max_bytes)
        remove_oldest(cache);
    at = &cache->slot[e->hash & (cache->n_slots - 1)];
    e->chain = *at;
    *at = e;
    make_newest(cache, e);
    cache->bytes += bytes;
    aoei_mutex_unlock(&cache->lock);
}

size_t aoei_cache_bytes(aoei_cache *cache) {
    aoei_mutex_lock(&cache->lock);
    const size_t bytes = cache->bytes;
    aoei_mutex_unlock(&cache->lock);
    return bytes;
}
