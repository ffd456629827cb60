/* SPDX-License-Identifier: MIT
 * Implements a bump allocator (arena.h). A measuring arena and an allocating arena run the same code, so the measured
 * size always equals the size that is allocated later.
 */
#include "base/arena.h"

#include <assert.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

void aoei_arena_measure(aoei_arena *a) {
    *a = (aoei_arena){0};
}

int aoei_arena_create(aoei_arena *a, size_t bytes, aoe_error *err) {
    *a = (aoei_arena){0};
    a->base = aoei_aligned(bytes);
    if (!a->base)
        return aoei_fail_nomem(err, bytes);
    a->size = bytes;
    return 0;
}

void aoei_arena_destroy(aoei_arena *a) {
    aoei_aligned_free(a->base);
    *a = (aoei_arena){0};
}

void *aoei_arena_take(aoei_arena *a, size_t bytes) {
    size_t limit = a->base ? a->size : SIZE_MAX;
    size_t rounded;
    if (aoei_add_size(bytes, AOEI_ALIGN - 1, &rounded)) {
        a->overflow = 1;
        return NULL;
    }
    rounded &= ~(size_t)(AOEI_ALIGN - 1);
    if (rounded > limit - a->used) {
        a->overflow = 1;
        return NULL;
    }
    size_t start = a->used;
    a->used += rounded;
    if (a->used > a->peak)
        a->peak = a->used;
    return a->base ? a->base + start : NULL;
}

void *aoei_arena_take_array(aoei_arena *a, size_t count, size_t size) {
    size_t bytes;
    if (aoei_mul_size(count, size, &bytes)) {
        a->overflow = 1;
        return NULL;
    }
    return aoei_arena_take(a, bytes);
}

size_t aoei_arena_mark(const aoei_arena *a) {
    return a->used;
}

void aoei_arena_reset(aoei_arena *a, size_t mark) {
    assert(mark <= a->used);
    a->used = mark;
}
