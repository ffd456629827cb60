/* SPDX-License-Identifier: MIT
 * Implements BertNormalizer in one pass over the text. Each character is processed in these steps:
 * - Control characters are dropped, and white space becomes a space.
 * - A CJK ideograph is surrounded by spaces.
 * - The character is decomposed (NFD), and nonspacing marks are dropped.
 * - The character is converted to lower case.
 * Some marks with a combining class, such as enclosing marks, are not dropped and must be written in canonical order.
 * They are collected until the run of combining characters ends.
 * Invariant: the output has capacity for the remaining input and OUT_SLACK additional bytes.
 */
#include "tokenizer/normalizer_bert.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/unicode.h"

enum {
    DROPPED = 0x80, /* value in the table aoei_bert_normalizer.ascii for a character that is dropped */
    OUT_SLACK = 16  /* maximum number of bytes that one code point adds to the output */
};

typedef struct mark {
    uint32_t cp;
    unsigned ccc;  /* combining class, not 0 */
    size_t origin; /* byte offset in the input */
} mark;

typedef struct pass {
    const aoei_bert_normalizer *n;
    aoei_normalized *out;
    size_t remaining; /* number of input bytes after the current character */
    mark *marks;      /* [n_marks] combining characters of the current run, owned */
    size_t n_marks, marks_capacity;
    uint64_t present[4]; /* bit c is 1 if a collected mark has combining class c */
    int failed;          /* 1: out of memory */
} pass;

static void put_character(pass *p, uint32_t cp, size_t origin) {
    aoei_normalized *out = p->out;
    uint32_t lower[AOEI_LOWER_MAX] = {cp};
    size_t n = p->n->lowercase ? aoei_unicode_lower(cp, lower) : 1;
    if (p->failed || (out->capacity - out->len < p->remaining + OUT_SLACK &&
                      aoei_normalized_reserve(out, p->remaining + OUT_SLACK))) {
        p->failed = 1;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        size_t bytes = aoei_utf8_encode(lower[i], out->data + out->len);
        for (size_t b = 0; b < bytes && out->track; b++)
            out->origin[out->len + b] = origin;
        out->len += bytes;
    }
}

/* Writes the collected marks in canonical order, which is a stable sort by combining class. The function makes one pass
 * over the marks for each class that occurs, so the time is linear in the number of marks. */
static void flush(pass *p) {
    for (unsigned ccc = 1; ccc < 256 && p->n_marks; ccc++) {
        if (!(p->present[ccc >> 6] >> (ccc & 63) & 1))
            continue;
        for (size_t i = 0; i < p->n_marks; i++)
            if (p->marks[i].ccc == ccc)
                put_character(p, p->marks[i].cp, p->marks[i].origin);
    }
    p->n_marks = 0;
    memset(p->present, 0, sizeof p->present);
}

static void collect_mark(pass *p, uint32_t cp, unsigned ccc, size_t origin) {
    if (p->n_marks == p->marks_capacity) {
        size_t wanted = p->marks_capacity ? p->marks_capacity * 2 : 16;
        mark *grown = aoei_realloc_array(p->marks, wanted, sizeof *grown);
        if (!grown) {
            p->failed = 1;
            return;
        }
        p->marks = grown;
        p->marks_capacity = wanted;
    }
    p->marks[p->n_marks++] = (mark){.cp = cp, .ccc = ccc, .origin = origin};
    p->present[ccc >> 6] |= UINT64_C(1) << (ccc & 63);
}

/* Writes the canonical decomposition (NFD) of a character, but drops nonspacing marks (category Mn). A dropped mark of
 * combining class 0 ends the run of combining characters, as any other character of class 0 does. */
static void add_without_accents(pass *p, uint32_t cp, size_t origin) {
    uint32_t parts[AOEI_DECOMPOSED_MAX];
    size_t n = aoei_unicode_decompose(cp, parts);
    for (size_t i = 0; i < n; i++) {
        unsigned ccc = aoei_unicode_combining_class(parts[i]);
        if (ccc == 0 && p->n_marks)
            flush(p);
        if (aoei_unicode_is_nonspacing(parts[i]))
            continue;
        if (ccc)
            collect_mark(p, parts[i], ccc, origin);
        else
            put_character(p, parts[i], origin);
    }
}

static void add_character(pass *p, uint32_t cp, size_t origin) {
    const aoei_bert_normalizer *n = p->n;
    if (n->clean_text) {
        if (cp == 0xFFFD || aoei_unicode_is_control(cp))
            return;
        if (aoei_unicode_is_space(cp))
            cp = ' ';
    }
    int cjk = n->handle_chinese_chars && aoei_unicode_is_cjk(cp);
    if (p->n_marks && (cjk || cp < 0x80))
        flush(p);
    if (cjk)
        put_character(p, ' ', origin);
    if (n->strip_accents && cp >= 0x80)
        add_without_accents(p, cp, origin);
    else
        put_character(p, cp, origin);
    if (cjk)
        put_character(p, ' ', origin);
}

/* Processes the ASCII characters that begin at s[i] and returns the position of the first non-ASCII character after
 * them. The capacity of `out` is sufficient because of the invariant at the top of this file. */
static size_t ascii_run(const aoei_bert_normalizer *n, const char *s, size_t i, size_t len, aoei_normalized *out) {
    size_t at = out->len;
    for (; i < len && (unsigned char)s[i] < 0x80; i++) {
        unsigned char c = n->ascii[(unsigned char)s[i]];
        out->data[at] = (char)c;
        if (out->track)
            out->origin[at] = i;
        at += c != DROPPED;
    }
    out->len = at;
    return i;
}

int aoei_normalize_bert(const aoei_bert_normalizer *n, const char *s, size_t len, aoei_normalized *out,
                        aoe_error *err) {
    size_t capacity;
    pass p = {.n = n, .out = out, .remaining = len};
    if (aoei_add_size(len, OUT_SLACK, &capacity) || aoei_normalized_reserve(out, capacity))
        return aoei_fail_nomem(err, len);
    for (size_t i = 0; i < len && !p.failed;) {
        if ((unsigned char)s[i] < 0x80 && p.n_marks == 0) {
            i = ascii_run(n, s, i, len, out);
            continue;
        }
        uint32_t cp = 0;
        size_t bytes = aoei_utf8_decode(s + i, len - i, &cp);
        p.remaining = len - i - bytes;
        if (cp < 0x80) { /* ends the current run, unless cleaning drops the character */
            if (n->ascii[cp] != DROPPED) {
                flush(&p);
                put_character(&p, n->ascii[cp], i);
            }
        } else {
            add_character(&p, cp, i);
        }
        i += bytes;
    }
    p.remaining = 0;
    flush(&p);
    aoei_free(p.marks);
    return p.failed ? aoei_fail_nomem(err, out->capacity) : 0;
}

void aoei_bert_normalizer_set(aoei_bert_normalizer *n, int clean_text, int handle_chinese_chars, int strip_accents,
                              int lowercase) {
    *n = (aoei_bert_normalizer){.clean_text = clean_text,
                                .handle_chinese_chars = handle_chinese_chars,
                                .strip_accents = strip_accents < 0 ? lowercase : strip_accents,
                                .lowercase = lowercase};
    for (unsigned c = 0; c < 128; c++) {
        unsigned char to = (unsigned char)c;
        if (lowercase && c >= 'A' && c <= 'Z')
            to = (unsigned char)(c + 32);
        if (clean_text && (c == '\t' || c == '\n' || c == '\r'))
            to = ' ';
        else if (clean_text && (c < 32 || c == 127))
            to = DROPPED;
        n->ascii[c] = to;
    }
}
