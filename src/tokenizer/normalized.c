/* SPDX-License-Identifier: MIT
 * Appends bytes to text buffers. A buffer that is full doubles its capacity, so the total time is linear in the length
 * of the text.
 */
#include "tokenizer/normalized.h"

#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

int aoei_normalized_reserve(aoei_normalized *out, size_t more) {
    size_t need, capacity;
    if (aoei_add_size(out->len, more, &need))
        return -1;
    if (need <= out->capacity)
        return 0;
    capacity = out->capacity > need / 2 ? out->capacity * 2 : need;
    char *data = aoei_realloc(out->data, capacity);
    if (!data)
        return -1;
    out->data = data;
    if (out->track) {
        size_t *origin = aoei_realloc_array(out->origin, capacity, sizeof *origin);
        if (!origin)
            return -1;
        out->origin = origin;
    }
    out->capacity = capacity;
    return 0;
}

int aoei_normalized_put(aoei_normalized *out, const char *s, size_t n, size_t origin) {
    if (out->capacity - out->len < n && aoei_normalized_reserve(out, n))
        return -1;
    for (size_t i = 0; i < n; i++) {
        out->data[out->len + i] = s[i];
        if (out->track)
            out->origin[out->len + i] = origin;
    }
    out->len += n;
    return 0;
}

int aoei_normalized_put_cp(aoei_normalized *out, uint32_t cp, size_t origin) {
    char bytes[4];
    return aoei_normalized_put(out, bytes, aoei_utf8_encode(cp, bytes), origin);
}

int aoei_normalized_copy(aoei_normalized *out, const char *s, size_t from, size_t to, const size_t *origin) {
    const size_t n = to - from;
    if (aoei_normalized_reserve(out, n))
        return -1;
    if (n)
        memcpy(out->data + out->len, s + from, n);
    for (size_t i = 0, start = from; i < n && out->track; i++) {
        if (((unsigned char)s[from + i] & 0xC0) != 0x80)
            start = from + i;
        out->origin[out->len + i] = origin ? origin[from + i] : start;
    }
    out->len += n;
    return 0;
}

int aoei_normalized_end(aoei_normalized *out) {
    if (aoei_normalized_reserve(out, AOEI_NORMALIZED_SLACK))
        return -1;
    memset(out->data + out->len, 0, AOEI_NORMALIZED_SLACK);
    return 0;
}

void aoei_normalized_free(aoei_normalized *out) {
    aoei_free(out->data);
    aoei_free(out->origin);
    memset(out, 0, sizeof *out);
}
