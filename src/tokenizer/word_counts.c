/* SPDX-License-Identifier: MIT
 * Counts words. A hash table with open addressing and linear probing contains the indices of the words.
 */
#include "tokenizer/word_counts.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { FIRST_SLOTS = 1 << 12 };

/* Computes a multiplicative hash, eight bytes at a time. Resistance to deliberate collisions is not needed. */
static uint32_t hash_of(const char *s, size_t len) {
    uint64_t h = 0xCBF29CE484222325u ^ len;
    while (len > 0) {
        uint64_t part = 0;
        size_t n = len < sizeof part ? len : sizeof part;
        memcpy(&part, s, n);
        h = (h ^ part) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
        s += n;
        len -= n;
    }
    return (uint32_t)(h ^ h >> 32);
}

static int grow_slots(aoei_word_counts *w, aoe_error *err) {
    size_t slots = w->slot ? (w->mask + 1) * 2 : FIRST_SLOTS;
    uint32_t *slot = aoei_calloc(slots, sizeof *slot);
    if (!slot)
        return aoei_fail_nomem(err, slots * sizeof *slot);
    for (size_t i = 0; i < w->n; i++) {
        size_t at = w->word[i].hash & (slots - 1);
        while (slot[at])
            at = (at + 1) & (slots - 1);
        slot[at] = (uint32_t)(i + 1);
    }
    aoei_free(w->slot);
    w->slot = slot;
    w->mask = slots - 1;
    return 0;
}

int aoei_word_counts_add(aoei_word_counts *w, const char *word, size_t len, aoe_error *err) {
    uint32_t hash = hash_of(word, len);
    if (!w->slot || w->n * 2 >= w->mask) {
        int rc = grow_slots(w, err);
        if (rc)
            return rc;
    }
    size_t at = hash & w->mask;
    for (; w->slot[at]; at = (at + 1) & w->mask) {
        aoei_word_count *known = &w->word[w->slot[at] - 1];
        if (known->hash == hash && known->len == len && memcmp(w->text.data + known->offset, word, len) == 0) {
            known->count++;
            return 0;
        }
    }
    if (w->n >= UINT32_MAX - 1 || aoei_grow((void **)&w->word, &w->capacity, w->n, sizeof *w->word))
        return aoei_fail_nomem(err, w->n * 2 * sizeof *w->word);
    size_t offset = w->text.len;
    if (aoei_buffer_append(&w->text, word, len))
        return aoei_fail_nomem(err, len);
    w->word[w->n++] = (aoei_word_count){.offset = offset, .len = (uint32_t)len, .hash = hash, .count = 1};
    w->slot[at] = (uint32_t)w->n;
    return 0;
}

void aoei_word_counts_free(aoei_word_counts *w) {
    aoei_buffer_free(&w->text);
    aoei_free(w->word);
    aoei_free(w->slot);
    memset(w, 0, sizeof *w);
}
