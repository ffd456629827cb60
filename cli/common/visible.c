/* SPDX-License-Identifier: MIT
 * Replaces characters that would change a terminal by escapes. Other characters are copied.
 */
#include "cli/common/visible.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <utf8proc.h>

#include "base/utf8.h"

/* Returns 1 if the character must not reach a terminal. */
static int is_unsafe(uint32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Writes the escape of an unsafe character. Returns its number of bytes. */
static size_t escape(char out[CLI_VISIBLE_MAX], uint32_t c) {
    char text[CLI_VISIBLE_MAX + 1];
    const char *name = c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : NULL;
    const int n = name       ? snprintf(text, sizeof text, "%s", name)
                  : c < 0x80 ? snprintf(text, sizeof text, "\\x%02x", (unsigned)c)
                             : snprintf(text, sizeof text, "\\u%04x", (unsigned)(c & 0xffff));
    memcpy(out, text, (size_t)n);
    return (size_t)n;
}

void cli_visible_char(cli_visible *v, const char *s, size_t len) {
    uint32_t c;
    v->bytes = aoei_utf8_decode(s, len, &c);
    if (!v->bytes) { /* a byte that is not valid UTF-8 */
        char text[CLI_VISIBLE_MAX + 1];
        v->bytes = 1;
        v->n = v->columns = (size_t)snprintf(text, sizeof text, "\\x%02x", (unsigned char)*s);
        memcpy(v->out, text, v->n);
    } else if (is_unsafe(c)) {
        v->n = v->columns = escape(v->out, c);
    } else {
        const int width = utf8proc_charwidth((utf8proc_int32_t)c);
        memcpy(v->out, s, v->bytes);
        v->n = v->bytes;
        v->columns = width > 0 ? (size_t)width : 0;
    }
}

void cli_append_visible(aoei_buffer *b, const char *s, size_t len) {
    cli_visible v;
    for (size_t i = 0; i < len; i += v.bytes) {
        cli_visible_char(&v, s + i, len - i);
        aoei_buffer_append(b, v.out, v.n);
    }
}

void cli_append_visible_json(aoei_buffer *b, const char *json, size_t len) {
    size_t bytes;
    for (size_t i = 0; i < len; i += bytes) {
        uint32_t c = 0;
        bytes = aoei_utf8_decode(json + i, len - i, &c);
        if (!bytes)
            bytes = 1;
        if (is_unsafe(c))
            aoei_buffer_printf(b, "\\u%04x", (unsigned)c);
        else
            aoei_buffer_append(b, json + i, bytes);
    }
}
