/* SPDX-License-Identifier: MIT
 * Computes classes of equal texts with a hash table that contains hashes of normalized texts (text_equality.h). The
 * normalized texts are not stored. If a hash occurs again, the earlier text is normalized again, so that the two
 * normalized texts can be compared.
 */
#include "dataset/text_classes.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "dataset/text_equality.h"

enum { FIRST_SLOTS = 1024 };

/* State of aoei_text_classes. */
typedef struct class_finder {
    const aoei_distinct *d;        /* set of texts; borrowed */
    aoe_text_equality equality;    /* rule by which two texts are equal */
    aoei_text_key_scratch scratch; /* workspace; owned, like all fields below */
    aoei_buffer key, other;        /* key: the current text, normalized; other: an earlier text with the same hash,
                                      normalized */
    size_t *slot; /* [slots] hash table that contains the first text of each class: its index plus 1, or 0 for an empty
                     slot */
    size_t slots; /* number of slots, a power of two */
    uint64_t *hash; /* [d->n] hash of each normalized text */
} class_finder;

/* s->key must contain the normalized form of text i. Sets *class to the index of the first text with this normalized
 * form, which is i if no earlier text has it. Returns 0, or -1 if out of memory. */
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

int aoei_text_classes(const aoei_distinct *d, aoe_text_equality equality, size_t *class, aoe_error *err) {
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
            s.hash[i] = aoei_hash_folded(s.key.data ? s.key.data : "", s.key.len);
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
