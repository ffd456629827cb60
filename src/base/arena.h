/* SPDX-License-Identifier: MIT
 * A bump allocator over one block. A measuring arena (no block) hands out NULL
 * and only counts, so that the code that lays memory out is also the plan of
 * its size: run it once to measure, allocate, run it again.
 */
#ifndef AOEI_BASE_ARENA_H
#define AOEI_BASE_ARENA_H

#include <stddef.h>

#include "aoe.h"

typedef struct aoei_arena {
    unsigned char *base; /* owned block, NULL while measuring */
    size_t size;         /* bytes in the block */
    size_t used;         /* bytes handed out, each piece rounded up to AOEI_ALIGN */
    size_t peak;         /* largest used so far */
    int overflow;        /* a measuring sum overflowed, or a real arena was exhausted: the plan is wrong */
} aoei_arena;

void aoei_arena_measure(aoei_arena *a);                                /* starts a measuring arena */
int aoei_arena_create(aoei_arena *a, size_t bytes, aoe_error *err);    /* allocates; AOE_ENOMEM */
void aoei_arena_destroy(aoei_arena *a);                                /* accepts a zeroed or measuring arena */
void *aoei_arena_take(aoei_arena *a, size_t bytes);                    /* aligned; NULL while measuring or when exhausted */
void *aoei_arena_take_array(aoei_arena *a, size_t count, size_t size); /* checked multiplication */
size_t aoei_arena_mark(const aoei_arena *a);
void aoei_arena_reset(aoei_arena *a, size_t mark); /* frees everything taken since mark */

#endif
