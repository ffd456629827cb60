/* SPDX-License-Identifier: MIT
 * Detects binary files and repairs the encoding of texts.
 */
#include "document/file_text.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/utf8.h"

#define SAMPLE           ((size_t)64 << 10) /* bytes that are examined for control characters and invalid bytes */
#define MAX_BAD_FRACTION 10                 /* at most one in so many characters may be bad */

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

static void take_buffer(char **data, size_t *size, const aoei_buffer *b) {
    aoei_free(*data);
    *data = b->data;
    *size = b->len;
}

/* Converts UTF-16 after its byte order mark. */
static int convert_utf16(char **data, size_t *size, int big_endian, aoe_error *err) {
    aoei_buffer out = {.len = 0};
    const unsigned char *s = (const unsigned char *)*data;
    const size_t n = *size / 2;
    if (aoei_buffer_reserve(&out, *size))
        return aoei_fail_nomem(err, *size);
    for (size_t i = 1; i < n; i++) {
        char bytes[4];
        uint32_t c = big_endian ? (uint32_t)(s[2 * i] << 8 | s[2 * i + 1]) : (uint32_t)(s[2 * i + 1] << 8 | s[2 * i]);
        if (c >= 0xd800 && c < 0xdc00 && i + 1 < n) {
            const unsigned char *t = s + 2 * (i + 1);
            const uint32_t low = big_endian ? (uint32_t)(t[0] << 8 | t[1]) : (uint32_t)(t[1] << 8 | t[0]);
            if (low >= 0xdc00 && low < 0xe000) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                i++;
            }
        }
        size_t len = aoei_utf8_encode(c, bytes);
        aoei_buffer_append(&out, len ? bytes : replacement, len ? len : 3);
    }
    if (*size % 2)
        aoei_buffer_append(&out, replacement, 3);
    if (out.failed) {
        aoei_buffer_free(&out);
        return aoei_fail_nomem(err, *size * 3 / 2);
    }
    take_buffer(data, size, &out);
    return 0;
}

/* Returns 1 if too many characters at the beginning of the text are control characters or invalid. */
static int has_many_bad_characters(const char *s, size_t len) {
    const size_t end = len < SAMPLE ? len : SAMPLE;
    size_t bad = 0, total = 0;
    for (size_t i = 0; i < end; total++) {
        uint32_t c;
        const size_t n = aoei_utf8_decode(s + i, len - i, &c);
        const int is_control = n && (c < 0x20 || c == 0x7f) && !(c >= '\t' && c <= '\r') && c != '\b' && c != 0x1b;
        bad += !n || is_control;
        i += n ? n : 1;
    }
    return bad > total / MAX_BAD_FRACTION;
}

static int replace_invalid(char **data, size_t *size, size_t valid, aoe_error *err) {
    aoei_buffer out = {.len = 0};
    const char *s = *data;
    const size_t len = *size;
    if (aoei_buffer_reserve(&out, len))
        return aoei_fail_nomem(err, len);
    for (size_t i = 0; i < len;) {
        aoei_buffer_append(&out, s + i, valid);
        i += valid;
        if (i == len)
            break;
        uint32_t c;
        while (i < len && !aoei_utf8_decode(s + i, len - i, &c))
            i++;
        aoei_buffer_append(&out, replacement, 3);
        valid = aoei_utf8_valid(s + i, len - i);
    }
    if (out.failed) {
        aoei_buffer_free(&out);
        return aoei_fail_nomem(err, len);
    }
    take_buffer(data, size, &out);
    return 0;
}

int aoei_file_text(char **data, size_t *size, int *is_binary, aoe_error *err) {
    const unsigned char *s = (const unsigned char *)*data;
    const int little = *size >= 2 && s[0] == 0xff && s[1] == 0xfe, big = *size >= 2 && s[0] == 0xfe && s[1] == 0xff;
    /* in UTF-32, the byte order mark is followed by NULs */
    const int is_utf16 = big || (little && !(*size >= 4 && s[2] == 0 && s[3] == 0));
    *is_binary = 0;
    if (is_utf16) {
        const int code = convert_utf16(data, size, big, err);
        if (code)
            return code;
    }
    if (*size && (memchr(*data, 0, *size) || has_many_bad_characters(*data, *size))) {
        *is_binary = 1;
        return 0;
    }
    if (*size >= 3 && memcmp(*data, "\xef\xbb\xbf", 3) == 0) {
        memmove(*data, *data + 3, *size - 3 + 1);
        *size -= 3;
    }
    const size_t valid = aoei_utf8_valid(*data, *size);
    return valid == *size ? 0 : replace_invalid(data, size, valid, err);
}
