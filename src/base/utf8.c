/* SPDX-License-Identifier: MIT
 * Validates, decodes and encodes UTF-8 (RFC 3629). The first byte of a sequence determines the range of the second
 * byte; this excludes overlong forms, surrogates and code points above U+10FFFF. All further bytes are in the range
 * from 0x80 to 0xBF.
 */
#include "base/utf8.h"

#include <string.h>

/* Returns the length in bytes of a UTF-8 sequence whose first byte is `first`, or 0 if `first` starts no sequence. Sets
 * *low and *high to the range of the second byte. */
static size_t sequence(unsigned char first, unsigned char *low, unsigned char *high) {
    *low = 0x80;
    *high = 0xbf;
    if (first < 0x80)
        return 1;
    if (first < 0xc2)
        return 0;
    if (first < 0xe0)
        return 2;
    if (first < 0xf0) {
        if (first == 0xe0)
            *low = 0xa0;
        if (first == 0xed)
            *high = 0x9f;
        return 3;
    }
    if (first < 0xf5) {
        if (first == 0xf0)
            *low = 0x90;
        if (first == 0xf4)
            *high = 0x8f;
        return 4;
    }
    return 0;
}

size_t aoei_utf8_chars(const char *s, size_t len) {
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)s[i] & 0xC0) != 0x80;
    return n;
}

size_t aoei_utf8_prefix(const char *s, size_t len, size_t n) {
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)s[i] & 0xC0) != 0x80 && !n--)
            return i;
    return len;
}

size_t aoei_utf8_decode(const char *s, size_t len, uint32_t *cp) {
    const unsigned char *p = (const unsigned char *)s;
    unsigned char low, high;
    size_t n = sequence(p[0], &low, &high);
    if (n == 1) {
        *cp = p[0];
        return 1;
    }
    if (n == 0 || n > len || p[1] < low || p[1] > high)
        return 0;
    uint32_t value = p[0] & (0x7fu >> n);
    value = (value << 6) | (p[1] & 0x3fu);
    for (size_t i = 2; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        value = (value << 6) | (p[i] & 0x3fu);
    }
    *cp = value;
    return n;
}

size_t aoei_utf8_valid(const char *s, size_t len) {
    size_t i = 0;
    while (i < len) {
        uint64_t word;
        while (len - i >= sizeof word) { /* most text is ASCII, so eight bytes are checked at a time */
            memcpy(&word, s + i, sizeof word);
            if (word & UINT64_C(0x8080808080808080))
                break;
            i += sizeof word;
        }
        if (i == len)
            break;
        uint32_t cp;
        size_t n = aoei_utf8_decode(s + i, len - i, &cp);
        if (n == 0)
            return i;
        i += n;
    }
    return len;
}

size_t aoei_utf8_encode(uint32_t cp, char out[4]) {
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xc0 | (cp >> 6));
        out[1] = (char)(0x80 | (cp & 0x3f));
        return 2;
    }
    if (cp < 0x10000) {
        if (cp >= 0xd800 && cp < 0xe000)
            return 0;
        out[0] = (char)(0xe0 | (cp >> 12));
        out[1] = (char)(0x80 | ((cp >> 6) & 0x3f));
        out[2] = (char)(0x80 | (cp & 0x3f));
        return 3;
    }
    if (cp > 0x10ffff)
        return 0;
    out[0] = (char)(0xf0 | (cp >> 18));
    out[1] = (char)(0x80 | ((cp >> 12) & 0x3f));
    out[2] = (char)(0x80 | ((cp >> 6) & 0x3f));
    out[3] = (char)(0x80 | (cp & 0x3f));
    return 4;
}

const char *aoei_utf_name(const char *s, size_t len) {
    const unsigned char *b = (const unsigned char *)s;
    if (len >= 4 && (memcmp(s, "\xFF\xFE\0\0", 4) == 0 || memcmp(s, "\0\0\xFE\xFF", 4) == 0))
        return "UTF-32";
    if (len >= 2 && (memcmp(s, "\xFF\xFE", 2) == 0 || memcmp(s, "\xFE\xFF", 2) == 0))
        return "UTF-16";
    if (len < 4 || b[0] > 0x7f || b[1] > 0x7f || b[2] > 0x7f || b[3] > 0x7f)
        return NULL;
    if (len >= 8 && b[0] && !b[1] && !b[2] && !b[3] && b[4] && !b[5] && !b[6] && !b[7])
        return "UTF-32LE";
    if (len >= 8 && !b[0] && !b[1] && !b[2] && b[3] && !b[4] && !b[5] && !b[6] && b[7])
        return "UTF-32BE";
    if (b[0] && !b[1] && b[2] && !b[3])
        return "UTF-16LE";
    return !b[0] && b[1] && !b[2] && b[3] ? "UTF-16BE" : NULL;
}

int aoei_utf8_is_space(uint32_t cp) {
    return (cp >= '\t' && cp <= '\r') || (cp >= 0x1c && cp <= ' ') || cp == 0x85 || cp == 0xa0 || cp == 0x1680 ||
           (cp >= 0x2000 && cp <= 0x200a) || cp == 0x2028 || cp == 0x2029 || cp == 0x202f || cp == 0x205f ||
           cp == 0x3000;
}

int aoei_utf8_is_blank(const char *s, size_t len) {
    uint32_t cp;
    size_t i = 0;
    for (size_t n; i < len && (n = aoei_utf8_decode(s + i, len - i, &cp)) && aoei_utf8_is_space(cp);)
        i += n;
    return i == len;
}
