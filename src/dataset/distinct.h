/* SPDX-License-Identifier: MIT
 * Distinct texts, numbered in the order in which they first come, byte by byte; and classes of
 * texts that count as the same (aoe_text_equality). A text is any bytes: keys of pairs are some too.
 */
#ifndef AOEI_DATASET_DISTINCT_H
#define AOEI_DATASET_DISTINCT_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "aoe_data.h"
#include "base/text_store.h"

typedef struct aoei_distinct {
    aoe_text *text; /* owned [n]; their bytes in `bytes`, or where the caller keeps them */
    uint64_t *hash; /* owned [n] of each */
    size_t n;
    size_t *slot; /* owned [slots]: number + 1 of a text, 0: empty; the next one is tried when it is another's */
    size_t slots; /* a power of two, at most half of them in use */
    size_t text_capacity, hash_capacity;
    aoei_chunks bytes;
} aoei_distinct;

/* *number is that of an equal text, else a new one. stays: 1: its bytes stay where they are for as long as d is used; 0: those
 * of a new text are copied. AOE_ENOMEM. Zero *d before the first call. */
int aoei_distinct_add(aoei_distinct *d, aoe_text text, int stays, size_t *number, aoe_error *err);
void aoei_distinct_free(aoei_distinct *d); /* accepts a zeroed one */

/* class: [d->n] of each text: the number of the first text that is the same. AOE_ENOMEM. */
int aoei_distinct_classes(const aoei_distinct *d, aoe_text_equality same, size_t *class, aoe_error *err);

#endif
