/* SPDX-License-Identifier: MIT
 * A set of distinct texts, compared byte by byte and indexed in the order in which they were added, and classes of texts that
 * are equal under an aoe_text_equality. Texts may contain arbitrary bytes, so binary keys can also be stored.
 */
#ifndef AOEI_DATASET_DISTINCT_H
#define AOEI_DATASET_DISTINCT_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "aoe_data.h"
#include "base/text_store.h"

typedef struct aoei_distinct {
    aoe_text *text; /* [n] distinct texts; the bytes are in `bytes` or owned by the caller; owned */
    uint64_t *hash; /* [n] hash of each text; owned */
    size_t n;       /* number of distinct texts */
    size_t *slot; /* [slots] hash table of indices in `text`: index + 1, or 0 for an empty slot; a collision uses the next free
                     slot; owned */
    size_t slots; /* number of slots: a power of two, at least twice the number of texts */
    size_t text_capacity, hash_capacity; /* elements allocated for text and for hash */
    aoei_chunks bytes;                   /* bytes of the texts that were copied; owned */
} aoei_distinct;

/* Adds a text unless the set contains an equal text. Sets *index to the index of the text in the set. is_stable: 1 if the
 * caller keeps the bytes valid while d is used; 0 if the bytes must be copied. Zero *d before the first call. Errors:
 * AOE_ENOMEM. */
int aoei_distinct_add(aoei_distinct *d, aoe_text text, int is_stable, size_t *index, aoe_error *err);
void aoei_distinct_free(aoei_distinct *d); /* accepts a zeroed struct */

/* Sets class[i] to the index of the first text that is equal to text i under `equality`. class: [d->n]. Errors: AOE_ENOMEM. */
int aoei_distinct_classes(const aoei_distinct *d, aoe_text_equality equality, size_t *class, aoe_error *err);

#endif
