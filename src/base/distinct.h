/* SPDX-License-Identifier: MIT
 * A set of distinct texts. The set compares texts byte by byte; its indices follow the order in which texts were added.
 * Texts may contain arbitrary bytes, so the set can also store binary keys.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/text_store.h"

typedef struct aoei_distinct {
    aoe_text *text; /* [n] distinct texts; their bytes are in `bytes` or owned by the caller; array owned */
    uint64_t *hash; /* [n] hash of each text; owned */
    size_t n;       /* number of distinct texts */
    size_t *slot;   /* [slots] hash table: index in `text` plus 1, or 0 for an empty slot; after a collision, the next
                       empty slot is used; owned */
    size_t slots;   /* number of slots: a power of two, at least twice the number of texts */
    size_t text_capacity, hash_capacity; /* allocated elements of `text` and of `hash` */
    aoei_chunks bytes;                   /* bytes of the texts that were copied; owned */
} aoei_distinct;

/* Adds a text, unless the set already contains an equal text. Sets *index to the index of the text in d->text.
 * is_stable: 1 if the caller keeps the bytes of the text valid while d is used; 0 to copy the bytes. The caller zeroes
 * *d before the first call. Errors: AOE_ENOMEM. */
int aoei_distinct_add(aoei_distinct *d, aoe_text text, int is_stable, size_t *index, aoe_error *err);
void aoei_distinct_free(aoei_distinct *d); /* accepts a zeroed struct */
