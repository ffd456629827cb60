/* SPDX-License-Identifier: MIT
 * Distinct texts, compared byte by byte and numbered in the order of their first occurrence, and classes of texts that are
 * equal by aoe_text_equality. Texts may contain arbitrary bytes, so that keys of pairs can also be stored.
 */
#ifndef AOEI_DATASET_DISTINCT_H
#define AOEI_DATASET_DISTINCT_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "aoe_data.h"
#include "base/text_store.h"

typedef struct aoei_distinct {
    aoe_text *text; /* [n] distinct texts, owned; the bytes are in `bytes` or owned by the caller */
    uint64_t *hash; /* [n] hash of each text, owned */
    size_t n;
    size_t *slot; /* [slots] number + 1 of a text, 0 for an empty slot; owned; collisions use the next slot */
    size_t slots; /* number of slots: a power of two; at most half of the slots are used */
    size_t text_capacity, hash_capacity;
    aoei_chunks bytes;
} aoei_distinct;

/* Adds a text. *number is set to the number of an equal text, or to a new number. stays: 1: the bytes remain valid while d
 * is used; 0: the bytes of a new text are copied. Zero *d before the first call. Errors: AOE_ENOMEM. */
int aoei_distinct_add(aoei_distinct *d, aoe_text text, int stays, size_t *number, aoe_error *err);
void aoei_distinct_free(aoei_distinct *d); /* accepts a zeroed struct */

/* Computes for each text the number of the first text that is equal to it by `equality`. class: [d->n]. Errors: AOE_ENOMEM. */
int aoei_distinct_classes(const aoei_distinct *d, aoe_text_equality equality, size_t *class, aoe_error *err);

#endif
