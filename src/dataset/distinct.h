/* SPDX-License-Identifier: MIT
 * Distinct texts, numbered in the order of their first occurrence and compared byte by byte; and classes of texts that are
 * equal by aoe_text_equality. Texts may be any bytes, so keys of pairs can be stored, too.
 */
#ifndef AOEI_DATASET_DISTINCT_H
#define AOEI_DATASET_DISTINCT_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "aoe_data.h"
#include "base/text_store.h"

typedef struct aoei_distinct {
    aoe_text *text; /* owned [n]; the bytes are in `bytes` or owned by the caller */
    uint64_t *hash; /* owned [n] hash of each text */
    size_t n;
    size_t *slot; /* owned [slots] number + 1 of a text, 0: empty; collisions use the next slot */
    size_t slots; /* a power of two; at most half of the slots are used */
    size_t text_capacity, hash_capacity;
    aoei_chunks bytes;
} aoei_distinct;

/* Adds a text. *number is the number of an equal text, or a new number. stays: 1: the bytes remain valid while d is used; 0:
 * the bytes of a new text are copied. Errors: AOE_ENOMEM. Zero *d before the first call. */
int aoei_distinct_add(aoei_distinct *d, aoe_text text, int stays, size_t *number, aoe_error *err);
void aoei_distinct_free(aoei_distinct *d); /* accepts a zeroed one */

/* Computes for each text the number of the first text that is equal to it. class: [d->n]. Errors: AOE_ENOMEM. */
int aoei_distinct_classes(const aoei_distinct *d, aoe_text_equality same, size_t *class, aoe_error *err);

#endif
