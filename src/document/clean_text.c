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

int aoei_clean_text(aoei_buffer *out, aoe_text text, aoe_error *err) {
    const char *s = text.data;
    const size_t len = text.len;
    int invalid = 0;               /* 1: the previous byte was invalid */
    aoei_buffer_reserve(out, len); /* one allocation for most texts */
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
    return out->failed ? aoei_fail_nomem(err, len) : 0;
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
