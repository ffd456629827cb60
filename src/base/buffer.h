/* SPDX-License-Identifier: MIT
 * A growing byte buffer and growing typed arrays. After a failed append, `failed` stays 1, so callers can append
 * without checks and test `failed` once at the end.
 */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

typedef struct aoei_buffer {
    char *data;      /* owned; data[len] is NUL if data is not NULL */
    size_t len;      /* used bytes */
    size_t capacity; /* allocated bytes */
    int failed;      /* 1 if an append ran out of memory; the contents are then incomplete */
} aoei_buffer;

int aoei_buffer_append(aoei_buffer *b, const void *data, size_t len); /* returns 0, or AOE_ENOMEM */
int aoei_buffer_putc(aoei_buffer *b, char c);
int aoei_buffer_printf(aoei_buffer *b, const char *fmt, ...) AOEI_PRINTF(2, 3);
int aoei_buffer_reserve(aoei_buffer *b, size_t more); /* reserves capacity for `more` bytes and a NUL */
void aoei_buffer_clear(aoei_buffer *b);               /* sets len = 0 and failed = 0; keeps the memory */
void aoei_buffer_free(aoei_buffer *b);

/* Grows an array until it has capacity for the element with index n. `size` is the size of an element in bytes. Returns
 * 0, or AOE_ENOMEM. Example: aoei_grow((void **)&a, &capacity, n, sizeof *a). */
int aoei_grow(void **array, size_t *capacity, size_t n, size_t size);
