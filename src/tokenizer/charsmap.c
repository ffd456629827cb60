/* SPDX-License-Identifier: MIT
 * Reads SentencePiece's character map and applies it in the same way as Hugging Face tokenizers. A grapheme cluster of
 * at most five bytes is searched for as a whole. If the cluster is longer or not found, each of its characters is
 * searched for separately. The shortest key that is a prefix of the cluster (or character) is used, and its replacement
 * replaces the whole cluster (or character). A transition out of the bounds of the double array or to an invalid child
 * ends the search.
 */
#include "tokenizer/charsmap.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/unicode.h"

enum { MAX_CLUSTER_BYTES = 5 }; /* maximum length in bytes of a grapheme cluster that is searched for as a whole */

static int base64_value(unsigned char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes the base64 string s into out, which must have space for 3 * len / 4 bytes. Returns the number of decoded
 * bytes, or SIZE_MAX if s is not base64. */
static size_t decode_base64(unsigned char *out, const char *s, size_t len) {
    size_t n = 0;
    uint32_t bits = 0;
    if (len % 4)
        return SIZE_MAX;
    for (size_t i = 0; i < len; i++) {
        const int padding = s[i] == '=' && i + 2 >= len && (i + 1 == len || s[i + 1] == '=');
        const int value = padding ? 0 : base64_value((unsigned char)s[i]);
        if (value < 0)
            return SIZE_MAX;
        bits = bits << 6 | (uint32_t)value;
        if (i % 4 == 3) {
            out[n++] = (unsigned char)(bits >> 16);
            out[n++] = (unsigned char)(bits >> 8);
            out[n++] = (unsigned char)bits;
        }
    }
    if (len && s[len - 1] == '=')
        n -= s[len - 2] == '=' ? 2 : 1;
    return n;
}

static uint32_t read_u32(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

int aoei_charsmap_read(aoei_charsmap *m, const char *base64, size_t len, const char *file, aoe_error *err) {
    size_t size, bad = 0;
    if (len == 0)
        return 0;
    if (!(m->blob = aoei_malloc(len / 4 * 3 + 1)))
        return aoei_fail_nomem(err, len);
    size = decode_base64(m->blob, base64, len);
    const size_t array = size != SIZE_MAX && size >= 4 ? read_u32(m->blob) : SIZE_MAX;
    if (array == SIZE_MAX || array > size - 4 || array % 4 != 0 || array == 0)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: \"precompiled_charsmap\" is not a character map in base64; download the file again",
                         file);
    m->n_units = array / 4;
    m->text = (const char *)m->blob + 4 + array;
    m->text_len = size - 4 - array;
    if (m->text_len && (bad = aoei_utf8_valid(m->text, m->text_len)) < m->text_len)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: \"precompiled_charsmap\" has replacements that are not UTF-8 (byte %zu); download the file again",
            file, bad);
    if (!(m->unit = aoei_malloc_array(m->n_units, sizeof *m->unit)))
        return aoei_fail_nomem(err, array);
    for (size_t i = 0; i < m->n_units; i++)
        m->unit[i] = read_u32(m->blob + 4 + 4 * i);
    return 0;
}

/* Returns the offset from a unit of the double array to its children. The offset is stored in bits 10 to 31 of the
 * unit. If bit 9 is set, the offset must be shifted left by 8. */
static size_t offset_of(uint32_t unit) {
    return (size_t)(unit >> 10) << ((unit & (1u << 9)) >> 6);
}

/* Sets *replacement to the replacement of the shortest key that is a prefix of s and returns 1. Returns 0 if no key is
 * a prefix of s. */
static int find(const aoei_charsmap *m, const char *s, size_t len, aoe_text *replacement) {
    size_t node = offset_of(m->unit[0]);
    for (size_t i = 0; i < len && s[i] != 0; i++) {
        const unsigned char c = (unsigned char)s[i];
        node ^= c;
        if (node >= m->n_units)
            return 0;
        const uint32_t unit = m->unit[node];
        if ((unit & (1u << 31 | 0xFF)) != c)
            return 0;
        node ^= offset_of(unit);
        if (!(unit >> 8 & 1))
            continue;
        const size_t at = node < m->n_units ? m->unit[node] & ~(1u << 31) : SIZE_MAX;
        if (at >= m->text_len || ((unsigned char)m->text[at] & 0xC0) == 0x80)
            return 0;
        const char *end = memchr(m->text + at, 0, m->text_len - at);
        *replacement = (aoe_text){m->text + at, end ? (size_t)(end - m->text) - at : m->text_len - at};
        return 1;
    }
    return 0;
}

/* Returns the end of the grapheme cluster that begins at s[i]. */
static size_t cluster_end(const char *s, size_t i, size_t len) {
    uint32_t before = 0, cp = 0;
    int32_t state = 0;
    i += aoei_utf8_decode(s + i, len - i, &before);
    while (i < len) {
        if (before >= 0x20 && before < 0x7F && (unsigned char)s[i] < 0x80)
            break;
        const size_t bytes = aoei_utf8_decode(s + i, len - i, &cp);
        if (aoei_unicode_cluster_break(before, cp, &state))
            break;
        before = cp;
        i += bytes;
    }
    return i;
}

int aoei_charsmap_apply(const aoei_charsmap *m, const char *s, size_t len, aoei_normalized *out, aoe_error *err) {
    aoe_text to = {NULL, 0};
    for (size_t start = 0, end; start < len; start = end) {
        end = m->n_units ? cluster_end(s, start, len) : len;
        if (m->n_units && end - start <= MAX_CLUSTER_BYTES && find(m, s + start, end - start, &to)) {
            if (aoei_normalized_put(out, to.data, to.len, start))
                return aoei_fail_nomem(err, len);
            continue;
        }
        for (size_t i = start; i < end;) {
            uint32_t cp = 0;
            size_t bytes = m->n_units ? aoei_utf8_decode(s + i, end - i, &cp) : end - i;
            const int found = m->n_units && find(m, s + i, bytes, &to);
            if (found ? aoei_normalized_put(out, to.data, to.len, i) : aoei_normalized_copy(out, s, i, i + bytes, NULL))
                return aoei_fail_nomem(err, len);
            i += bytes;
        }
    }
    return 0;
}

void aoei_charsmap_free(aoei_charsmap *m) {
    aoei_free(m->blob);
    aoei_free(m->unit);
    memset(m, 0, sizeof *m);
}
