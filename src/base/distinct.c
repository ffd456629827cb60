/* SPDX-License-Identifier: MIT
 * Implements a set of distinct texts as an array of texts and a hash table of their indices.
 */
#include "base/distinct.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"

enum { FIRST_SLOTS = 1024 };

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
    const uint64_t h = aoei_hash_folded(text.data, text.len);
    if (2 * (d->n + 1) > d->slots && grow_slots(d))
        return aoei_fail_nomem(err, 2 * d->slots * sizeof *d->slot);
    size_t at = (size_t)h & (d->slots - 1);
    for (; d->slot[at]; at = (at + 1) & (d->slots - 1)) {
        const size_t i = d->slot[at] - 1;
        if (d->hash[i] == h && d->text[i].len == text.len &&
            (!text.len || !memcmp(d->text[i].data, text.data, text.len))) {
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
