/* SPDX-License-Identifier: MIT
 * A growing byte buffer and growing typed arrays. Failure is sticky: callers
 * append freely and look at `failed` once.
 */
#ifndef AOEI_BASE_BUFFER_H
#define AOEI_BASE_BUFFER_H

#include <stddef.h>

#include "base/compiler.h"

typedef struct aoei_buffer {
    char *data;      /* owned, NUL-terminated beyond len when not NULL */
    size_t len;      /* bytes in use */
    size_t capacity; /* bytes allocated */
    int failed;      /* an append ran out of memory; the contents are incomplete */
} aoei_buffer;

int aoei_buffer_append(aoei_buffer *b, const void *data, size_t len); /* 0, or AOE_ENOMEM */
int aoei_buffer_putc(aoei_buffer *b, char c);
int aoei_buffer_printf(aoei_buffer *b, const char *fmt, ...) AOEI_PRINTF(2, 3);
int aoei_buffer_reserve(aoei_buffer *b, size_t more); /* room for more bytes and a NUL */
void aoei_buffer_clear(aoei_buffer *b);               /* len = 0, failed = 0, keeps the memory */
void aoei_buffer_free(aoei_buffer *b);

/* Makes room for one more element of a growing array: `if (aoei_grow((void **)&a, &cap, n, sizeof *a)) ...` */
int aoei_grow(void **array, size_t *capacity, size_t n, size_t size);

#endif
