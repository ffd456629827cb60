/* SPDX-License-Identifier: MIT
 * Cleans the text of a document (clean_text.h). Runs of ASCII characters that need no change are copied as a whole.
 */
#include "document/clean_text.h"

#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

static const char marker[] = " ..."; /* replaces removed data */

/* Returns 1 if the ASCII character is copied unchanged. */
static int is_plain(unsigned char c) {
    return (c >= ' ' && c < 0x7F) || c == '\n' || c == '\t';
}

/* Appends the character cp, or its replacement. */
static void append_character(aoei_buffer *out, uint32_t cp) {
    char bytes[4];
    if (cp == 0xAD || cp == 0xFEFF) /* soft hyphen, byte order mark */
        return;
    if ((cp < ' ' && cp != '\n' && cp != '\t') || (cp >= 0x7F && cp < 0xA0))
        cp = ' ';
    const size_t n = aoei_utf8_encode(cp, bytes);
    aoei_buffer_append(out, n ? bytes : "\xEF\xBF\xBD", n ? n : 3);
}

static void clean_utf8(aoei_buffer *out, const char *s, size_t len) {
    int invalid = 0; /* 1: the previous byte was invalid */
    for (size_t i = 0; i < len;) {
        size_t plain = i;
        while (plain < len && is_plain((unsigned char)s[plain]))
            plain++;
        if (plain > i)
            invalid = 0;
        aoei_buffer_append(out, s + i, plain - i);
        i = plain;
        if (i == len)
            break;
        uint32_t cp;
        const size_t n = aoei_utf8_decode(s + i, len - i, &cp);
        if (n && cp == '\r')
            cp = i + 1 < len && s[i + 1] == '\n' ? 0xFEFF : '\n'; /* the CR of CR LF is removed */
        if (n || !invalid)
            append_character(out, n ? cp : 0xFFFD);
        invalid = !n;
        i += n ? n : 1;
    }
}

static uint32_t unit16(const unsigned char *s, int big) {
    return big ? (uint32_t)(s[0] << 8 | s[1]) : (uint32_t)(s[1] << 8 | s[0]);
}

/* Cleans UTF-16 in big or little endian, without its byte order mark. */
static void clean_utf16(aoei_buffer *out, const unsigned char *s, size_t len, int big) {
    for (size_t i = 0; i < len;) {
        uint32_t cp = i + 2 <= len ? unit16(s + i, big) : 0xFFFD;
        size_t n = 2;
        if (cp >= 0xD800 && cp < 0xDC00 && i + 4 <= len) {
            const uint32_t low = unit16(s + i + 2, big);
            if (low >= 0xDC00 && low < 0xE000) {
                cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
                n = 4;
            }
        }
        if (cp == '\r')
            cp = i + 4 <= len && unit16(s + i + 2, big) == '\n' ? 0xFEFF : '\n';
        append_character(out, cp);
        i += n;
    }
}

int aoei_clean_text(aoei_buffer *out, aoe_text text, aoe_error *err) {
    const unsigned char *s = (const unsigned char *)text.data;
    const int big = text.len >= 2 && s[0] == 0xFE && s[1] == 0xFF,
              little = text.len >= 2 && s[0] == 0xFF && s[1] == 0xFE;
    aoei_buffer_reserve(out, text.len); /* one allocation for most texts */
    if (big || little)
        clean_utf16(out, s + 2, text.len - 2, big);
    else
        clean_utf8(out, text.data, text.len);
    return out->failed ? aoei_fail_nomem(err, text.len) : 0;
}

/* Writes the replacement of the `skipped` bytes before s[end] to s[to]. A short piece is kept. Returns the new `to`. */
static size_t replace_skipped(char *s, size_t to, size_t end, size_t skipped) {
    const size_t longest = sizeof marker - 1, n = skipped < longest ? skipped : longest;
    memmove(s + to, skipped > longest ? marker : s + end - skipped, n);
    return to + n;
}

size_t aoei_shorten_data(aoei_buffer *text, size_t longest_line) {
    char *s = text->data;
    const size_t len = text->len;
    size_t to = 0, run = 0, line = 0, skipped = 0; /* written bytes; lengths of run and line so far; bytes to replace */
    for (size_t i = 0; i < len; i++) {
        const unsigned char c = (unsigned char)s[i];
        run = c > ' ' && c < 0x80 ? run + 1 : 0;
        line = c == '\n' ? 0 : line + 1;
        const int long_line = longest_line && line > longest_line && (skipped || (c & 0xC0) != 0x80);
        if (run > AOEI_LONGEST_RUN || long_line) {
            skipped++;
            continue;
        }
        to = replace_skipped(s, to, i, skipped);
        skipped = 0;
        s[to++] = (char)c;
    }
    if (s) {
        to = replace_skipped(s, to, len, skipped);
        s[to] = 0;
    }
    text->len = to;
    return len - to;
}
