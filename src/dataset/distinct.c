/* SPDX-License-Identifier: MIT
 * Implements a set of distinct texts as an array of texts and a hash table of their indices. Classes of equal texts are
 * computed with a second hash table, which contains hashes of normalized texts (text_equality.h). The normalized texts are not
 * stored. If a hash occurs again, the earlier text is normalized again, so that the two normalized texts can be compared.
 */
#include "dataset/distinct.h"
#include "aoe_data.h"
#include "dataset/text_equality.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"

enum { FIRST_SLOTS = 1024 };

/* Returns the FNV-1a hash of the text, with its high half combined into its low half by XOR. The hash table uses only the low
 * bits, and the low bits of FNV-1a alone depend on fewer bits of the text. */
static uint64_t hash_of(aoe_text t) {
    const uint64_t h = aoei_hash(AOEI_HASH_START, t.data, t.len);
    return h ^ (h >> 32);
}

static int grow_slots(aoei_distinct *d) {
    size_t slots;
    if (aoei_mul_size(d->slots ? d->slots : FIRST_SLOTS / 2, 2, &slots))
        return -1;
    size_t *slot = aoei_calloc(slots, sizeof *slot);
    if (!slot)
        return -1;
    for (size_t i = 0; i < d->n; i++) {
        size_t at = (size_t)d->hash[i] & (slots - 1);
        while (slot[at])
            at = (at + 1) & (slots - 1);
        slot[at] = i + 1;
    }
    aoei_free(d->slot);
    d->slot = slot;
    d->slots = slots;
    return 0;
}

int aoei_distinct_add(aoei_distinct *d, aoe_text text, int is_stable, size_t *index, aoe_error *err) {
    const uint64_t h = hash_of(text);
    if (2 * (d->n + 1) > d->slots && grow_slots(d))
        return aoei_fail_nomem(err, 2 * d->slots * sizeof *d->slot);
    size_t at = (size_t)h & (d->slots - 1);
    for (; d->slot[at]; at = (at + 1) & (d->slots - 1)) {
        const size_t i = d->slot[at] - 1;
        if (d->hash[i] == h && d->text[i].len == text.len && (!text.len || !memcmp(d->text[i].data, text.data, text.len))) {
            *index = i;
            return 0;
        }
    }
    if (aoei_grow((void **)&d->text, &d->text_capacity, d->n, sizeof *d->text) ||
        aoei_grow((void **)&d->hash, &d->hash_capacity, d->n, sizeof *d->hash))
        return aoei_fail_nomem(err, d->n * sizeof *d->text);
    if (!is_stable) {
        char *copy = aoei_chunks_take(&d->bytes, text.len);
        if (!copy)
            return aoei_fail_nomem(err, text.len);
        if (text.len)
            memcpy(copy, text.data, text.len);
        text.data = copy;
    }
    d->text[d->n] = text;
    d->hash[d->n] = h;
    d->slot[at] = ++d->n;
    *index = d->n - 1;
    return 0;
}

void aoei_distinct_free(aoei_distinct *d) {
    aoei_chunks_free(&d->bytes);
    aoei_free(d->text);
    aoei_free(d->hash);
    aoei_free(d->slot);
    *d = (aoei_distinct){0};
}

/* State of aoei_distinct_classes. */
typedef struct class_finder {
    const aoei_distinct *d;        /* set of texts; borrowed */
    aoe_text_equality equality;    /* rule by which two texts are equal */
    aoei_text_key_scratch scratch; /* workspace; owned, like all fields below */
    aoei_buffer key, other; /* key: the current text, normalized; other: an earlier text with the same hash, normalized */
    size_t *slot; /* [slots] hash table that contains the first text of each class: its index plus 1, or 0 for an empty slot */
    size_t slots; /* number of slots, a power of two */
    uint64_t *hash; /* [d->n] hash of each normalized text */
} class_finder;

/* s->key must contain the normalized form of text i. Sets *class to the index of the first text with this normalized form,
 * which is i if no earlier text has it. Returns 0, or -1 if out of memory. */
static int find_class(class_finder *s, size_t i, size_t *class) {
    size_t at = (size_t)s->hash[i] & (s->slots - 1);
    for (; s->slot[at]; at = (at + 1) & (s->slots - 1)) {
        const size_t k = s->slot[at] - 1;
        if (s->hash[k] != s->hash[i])
            continue;
        if (aoei_text_key(&s->other, s->d->text[k], s->equality, &s->scratch))
            return -1;
        if (s->other.len == s->key.len && (!s->key.len || !memcmp(s->other.data, s->key.data, s->key.len))) {
            *class = k;
            return 0;
        }
    }
    s->slot[at] = i + 1;
    *class = i;
    return 0;
}

int aoei_distinct_classes(const aoei_distinct *d, aoe_text_equality equality, size_t *class, aoe_error *err) {
    class_finder s = {.d = d, .equality = equality, .slots = FIRST_SLOTS};
    int failed = 0;
    if (equality == AOE_TEXT_EQUAL_EXACT) {
        for (size_t i = 0; i < d->n; i++)
            class[i] = i;
        return 0;
    }
    while (s.slots / 2 < d->n && !failed)
        failed = aoei_mul_size(s.slots, 2, &s.slots);
    if (!failed) {
        s.slot = aoei_calloc(s.slots, sizeof *s.slot);
        s.hash = aoei_malloc_array(d->n, sizeof *s.hash);
        failed = !s.slot || !s.hash;
    }
    for (size_t i = 0; i < d->n && !failed; i++) {
        failed = aoei_text_key(&s.key, d->text[i], equality, &s.scratch);
        if (!failed) {
            s.hash[i] = hash_of((aoe_text){s.key.data ? s.key.data : "", s.key.len});
            failed = find_class(&s, i, &class[i]);
        }
    }
    aoei_free(s.slot);
    aoei_free(s.hash);
    aoei_free(s.scratch.point);
    aoei_buffer_free(&s.key);
    aoei_buffer_free(&s.other);
    return failed ? aoei_fail_nomem(err, d->n * sizeof *s.hash) : 0;
}
