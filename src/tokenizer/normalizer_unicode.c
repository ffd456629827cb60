/* SPDX-License-Identifier: MIT
 * Computes the Unicode normalization forms NFD, NFKD, NFC and NFKC. Decomposed characters are collected in a run. The
 * run ends before a character that is not reordered and does not compose with a preceding character. The run is then
 * put in canonical order and, for NFC and NFKC, composed. Ranges of text that the normalization form cannot change are
 * copied without table lookups. The time is linear in the length of the text, even for long runs of marks.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/normalizer_unicode.h"
#include "tokenizer/unicode.h"

enum { FIRST_MARK_LEAD = 0xCC, HANGUL_FIRST = 0xAC00, HANGUL_LAST = 0xD7A3 };

typedef struct letter {
    uint32_t cp;
    uint16_t ccc;   /* combining class */
    int16_t change; /* 1 - change is the number of characters of the input that the letter consumes */
} letter;

typedef struct pass {
    int compatible, composed; /* arguments of aoei_normalize_unicode */
    const char *s;            /* [len] input, borrowed */
    size_t len;
    aoei_normalized *out;
    size_t start;       /* byte offset in the input of the first character that the run consumes */
    size_t last;        /* byte offset of the character before it */
    letter *run;        /* [n] characters of the current run, owned */
    size_t n, capacity; /* length and capacity of run */
    letter *sorted;     /* [sorted_capacity] workspace of sort_marks, owned */
    size_t sorted_capacity;
} pass;

/* Sorts the marks p->run[from, to) by combining class with a stable sort. None of the marks has combining class 0. */
static int sort_marks(pass *p, size_t from, size_t to) {
    size_t start[257] = {0}, i = from + 1;
    while (i < to && p->run[i - 1].ccc <= p->run[i].ccc)
        i++;
    if (i >= to)
        return 0;
    if (p->sorted_capacity < p->capacity) {
        letter *grown = aoei_realloc_array(p->sorted, p->capacity, sizeof *grown);
        if (!grown)
            return -1;
        p->sorted = grown;
        p->sorted_capacity = p->capacity;
    }
    for (i = from; i < to; i++)
        start[(p->run[i].ccc & 255) + 1]++;
    for (i = 1; i < 257; i++)
        start[i] += start[i - 1];
    for (i = from; i < to; i++)
        p->sorted[start[p->run[i].ccc & 255]++] = p->run[i];
    memcpy(p->run + from, p->sorted, (to - from) * sizeof *p->run);
    return 0;
}

static void compose(pass *p) {
    size_t starter = SIZE_MAX, to = 0;
    unsigned last = 0; /* combining class of the last character that was not composed with a preceding character */
    for (size_t i = 0; i < p->n; i++) {
        const letter l = p->run[i];
        const int blocked = starter == SIZE_MAX || (last != 0 && last >= l.ccc);
        const uint32_t both = blocked ? 0 : aoei_unicode_compose(p->run[starter].cp, l.cp);
        if (both) {
            p->run[starter].cp = both;
            p->run[starter].change = (int16_t)(p->run[starter].change + l.change - 1);
            continue;
        }
        if (l.ccc == 0)
            starter = to;
        last = l.ccc;
        p->run[to++] = l;
    }
    p->n = to;
}

/* Writes the run to the output. Its letters get the characters of the input as origins in order, as in the reference,
 * even if marks were reordered. A letter that consumes no character gets the same origin as the letter before it. */
static int write_run(pass *p) {
    size_t next = p->start, origin = p->last;
    for (size_t i = 0; i < p->n; i++) {
        for (int k = p->run[i].change; k <= 0 && p->out->track; k++) {
            uint32_t cp;
            origin = k == p->run[i].change ? next : origin;
            next += next < p->len ? aoei_utf8_decode(p->s + next, p->len - next, &cp) : 0;
        }
        if (aoei_normalized_put_cp(p->out, p->run[i].cp, origin))
            return -1;
    }
    return 0;
}

/* Sorts and composes the run, writes it to the output, and empties it. Returns -1 if out of memory. */
static int flush(pass *p) {
    for (size_t i = 0, from = 0; i <= p->n && p->n > 1; i++) {
        if (i < p->n && p->run[i].ccc != 0)
            continue;
        if (sort_marks(p, from, i))
            return -1;
        from = i + 1;
    }
    if (p->composed && p->n > 1)
        compose(p);
    if (write_run(p))
        return -1;
    p->n = 0;
    return 0;
}

/* Adds a letter to the run. origin: byte offset in the input. change: see `letter`. */
static int add(pass *p, uint32_t cp, size_t origin, int change) {
    const unsigned ccc = aoei_unicode_combining_class(cp);
    if (ccc == 0 && !(p->composed && aoei_unicode_composes_back(cp)) && flush(p))
        return -1;
    if (aoei_grow((void **)&p->run, &p->capacity, p->n, sizeof *p->run))
        return -1;
    if (p->n == 0) { /* a letter with change 1 belongs to a character that the previous run consumed */
        uint32_t whole;
        p->last = origin;
        p->start = origin + (change ? aoei_utf8_decode(p->s + origin, p->len - origin, &whole) : 0);
    }
    p->run[p->n++] = (letter){.cp = cp, .ccc = (uint16_t)ccc, .change = (int16_t)change};
    return 0;
}

static int add_decomposed(pass *p, uint32_t cp, size_t origin) {
    uint32_t parts[AOEI_COMPATIBLE_MAX] = {cp};
    size_t n = 1;
    if (!(p->composed && cp >= HANGUL_FIRST && cp <= HANGUL_LAST)) /* NFC and NFKC do not decompose Hangul syllables */
        n = p->compatible ? aoei_unicode_decompose_compatible(cp, parts) : aoei_unicode_decompose(cp, parts);
    for (size_t i = 0; i < n; i++)
        if (add(p, parts[i], origin, i > 0))
            return -1;
    return 0;
}

/* Returns the end of a range of s that begins at i and that normalization does not change. A character below U+0300
 * composes only with a following character of at least U+0300. Decomposition does not change ASCII characters. */
static size_t unchanged_end(const pass *p, const char *s, size_t i, size_t len) {
    const unsigned char limit = p->composed && !p->compatible ? FIRST_MARK_LEAD : 0x80;
    size_t end = i;
    while (end < len && (unsigned char)s[end] < limit)
        end++;
    if (!p->composed || end == len)
        return end;
    while (end > i && ((unsigned char)s[end - 1] & 0xC0) == 0x80) /* exclude the last character, because a mark may
                                                                     follow it */
        end--;
    return end > i ? end - 1 : i;
}

int aoei_normalize_unicode(int compatible, int composed, const char *s, size_t len, aoei_normalized *out,
                           aoe_error *err) {
    pass p = {.compatible = compatible, .composed = composed, .s = s, .len = len, .out = out};
    int failed = 0;
    for (size_t i = 0; i < len && !failed;) {
        const size_t end = unchanged_end(&p, s, i, len);
        if (end > i) {
            failed = flush(&p) || aoei_normalized_copy(out, s, i, end, NULL);
            i = end;
            continue;
        }
        uint32_t cp = 0;
        const size_t bytes = aoei_utf8_decode(s + i, len - i, &cp);
        failed = add_decomposed(&p, cp, i);
        i += bytes;
    }
    failed = failed || flush(&p);
    aoei_free(p.run);
    aoei_free(p.sorted);
    return failed ? aoei_fail_nomem(err, len) : 0;
}
