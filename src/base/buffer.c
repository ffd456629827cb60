/* SPDX-License-Identifier: MIT
 * Implements buffers and arrays that grow. A full buffer or array doubles its capacity. Sizes are checked for overflow.
 * After a failed append, a buffer rejects further appends until it is cleared, so its contents never have gaps.
 */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "aoe.h"
#include "base/alloc.h"

static int set_failed(aoei_buffer *b) {
    b->failed = 1;
    return AOE_ENOMEM;
}

int aoei_buffer_reserve(aoei_buffer *b, size_t more) {
    size_t need;
    if (b->failed || aoei_add_size(b->len, more, &need) || aoei_add_size(need, 1, &need))
        return set_failed(b);
    if (need <= b->capacity)
        return 0;
    size_t capacity = b->capacity > SIZE_MAX / 2 ? need : b->capacity * 2;
    if (capacity < need)
        capacity = need < 64 ? 64 : need;
    char *data = aoei_realloc(b->data, capacity);
    if (!data)
        return set_failed(b);
    b->data = data;
    b->capacity = capacity;
    b->data[b->len] = 0;
    return 0;
}

int aoei_buffer_append(aoei_buffer *b, const void *data, size_t len) {
    if (aoei_buffer_reserve(b, len))
        return AOE_ENOMEM;
    if (len)
        memcpy(b->data + b->len, data, len);
    b->len += len;
    b->data[b->len] = 0;
    return 0;
}

int aoei_buffer_putc(aoei_buffer *b, char c) {
    return aoei_buffer_append(b, &c, 1);
}

int aoei_buffer_printf(aoei_buffer *b, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    int code = n < 0 ? set_failed(b) : aoei_buffer_reserve(b, (size_t)n);
    if (code == 0) {
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
    return code;
}

void aoei_buffer_clear(aoei_buffer *b) {
    b->len = 0;
    b->failed = 0;
    if (b->data)
        b->data[0] = 0;
}

void aoei_buffer_free(aoei_buffer *b) {
    aoei_free(b->data);
    *b = (aoei_buffer){0};
}

int aoei_grow(void **array, size_t *capacity, size_t n, size_t size) {
    if (n < *capacity)
        return 0;
    size_t wanted = n < 8 ? 16 : n;
    if (n >= 8 && aoei_mul_size(n, 2, &wanted))
        return AOE_ENOMEM;
    void *p;
    memcpy(&p, array, sizeof p); /* *array is read with memcpy, because the caller's pointer does not have the type void
                                  * */
    p = aoei_realloc_array(p, wanted, size);
    if (!p)
        return AOE_ENOMEM;
    memcpy(array, &p, sizeof p);
    *capacity = wanted;
    return 0;
}
