/* SPDX-License-Identifier: MIT
 * A bump allocator, which divides one block of memory into buffers. A measuring arena has no block: it returns NULL and
 * only adds up sizes. Code that allocates buffers runs twice: first with a measuring arena, to compute the total size,
 * and then with an arena of this size.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"

typedef struct aoei_arena {
    unsigned char *base; /* block of memory, owned; NULL in a measuring arena */
    size_t size;         /* size of the block in bytes */
    size_t used;         /* bytes allocated from the block; the size of each allocation is rounded up to a multiple of
                            AOEI_ALIGN */
    size_t peak;         /* largest value of `used` so far */
    int overflow;        /* 1 if a measured size overflowed or the block was too small; the layout is then invalid */
} aoei_arena;

void aoei_arena_measure(aoei_arena *a);                             /* starts a measuring arena */
int aoei_arena_create(aoei_arena *a, size_t bytes, aoe_error *err); /* allocates the block; AOE_ENOMEM */
void aoei_arena_destroy(aoei_arena *a);                             /* accepts a zeroed or a measuring arena */
void *aoei_arena_take(aoei_arena *a, size_t bytes); /* aligned to AOEI_ALIGN; NULL if measuring or exhausted */
void *aoei_arena_take_array(aoei_arena *a, size_t count, size_t size); /* like aoei_arena_take for count * size bytes;
                                                                          checks for overflow */
size_t aoei_arena_mark(const aoei_arena *a); /* returns the value of `used`, which can be passed to aoei_arena_reset */
void aoei_arena_reset(aoei_arena *a, size_t mark); /* frees what was allocated after aoei_arena_mark returned `mark` */
