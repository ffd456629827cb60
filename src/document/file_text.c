/* SPDX-License-Identifier: MIT
 * Detects files without text for readers and repairs the encoding of texts.
 */
#include "document/file_text.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/utf8.h"

#define SAMPLE              ((size_t)64 << 10) /* bytes whose characters are examined */
#define MAX_BAD_FRACTION    10                 /* at most one in so many characters may be bad */
#define MIN_LETTER_FRACTION 10                 /* at least one in so many characters must be a letter */
#define MIN_NUMBERS         ((size_t)4 << 10)  /* bytes; smaller files may have few letters */

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

/* Returns 1 if the text has hardly any letters, as a table of numbers. Every character outside ASCII counts as one. */
static int has_few_letters(const char *s, size_t len) {
    const size_t end = len < SAMPLE ? len : SAMPLE;
    size_t letters = 0, total = 0;
    for (size_t i = 0; i < end; i++) {
        const unsigned char c = (unsigned char)s[i];
        const int is_letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c >= 0xc0;
        letters += is_letter ? 1 : 0;
        total += is_letter || (c > ' ' && c < 0x80) ? 1 : 0;
    }
    return len >= MIN_NUMBERS && letters < total / MIN_LETTER_FRACTION;
}

/* Returns the first place at or after s of one of the characters in `set`, or `end`. */
static const char *find_one(const char *s, const char *end, const char *set) {
    while (s < end && !strchr(set, *s))
        s++;
    return s;
}

/* Returns 1 if the first element of an XML text is svg. Declarations and comments may precede it. */
static int is_svg(const char *s, size_t len) {
    static const char bom[] = "\xef\xbb\xbf", comment[] = "<!--";
    const char *end = s + (len < SAMPLE ? len : SAMPLE);
    if (len >= 3 && !memcmp(s, bom, 3))
        s += 3;
    for (;;) {
        while (s < end && strchr(" \t\r\n", *s))
            s++;
        const size_t left = (size_t)(end - s);
        if (left > 4 && !memcmp(s, "<svg", 4))
            return strchr(" \t\r\n>", s[4]) != NULL;
        if (left < 4 || s[0] != '<' || (s[1] != '?' && s[1] != '!'))
            return 0;
        if (!memcmp(s, comment, 4)) {
            for (s += 4; s + 3 <= end && memcmp(s, "-->", 3) != 0;)
                s++;
            s = s + 3 <= end ? s + 3 : end;
        } else {
            s = find_one(s, end, ">");
            s += s < end;
        }
    }
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

int aoei_file_text(char **data, size_t *size, int *is_textless, aoe_error *err) {
    const unsigned char *s = (const unsigned char *)*data;
    const int little = *size >= 2 && s[0] == 0xff && s[1] == 0xfe, big = *size >= 2 && s[0] == 0xfe && s[1] == 0xff;
    /* in UTF-32, the byte order mark is followed by NULs */
    const int is_utf16 = big || (little && !(*size >= 4 && s[2] == 0 && s[3] == 0));
    *is_textless = 0;
    if (is_utf16) {
        const int code = convert_utf16(data, size, big, err);
        if (code)
            return code;
    }
    if (*size && (memchr(*data, 0, *size) || has_many_bad_characters(*data, *size) || is_svg(*data, *size) ||
                  has_few_letters(*data, *size))) {
        *is_textless = 1;
        return 0;
    }
    if (*size >= 3 && memcmp(*data, "\xef\xbb\xbf", 3) == 0) {
        memmove(*data, *data + 3, *size - 3 + 1);
        *size -= 3;
    }
    const size_t valid = aoei_utf8_valid(*data, *size);
    return valid == *size ? 0 : replace_invalid(data, size, valid, err);
}
