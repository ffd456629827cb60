/* SPDX-License-Identifier: MIT
 * Finds the words of a query in a text. A word matches if the text contains its letters, without regard to case and
 * diacritics, between two word boundaries. In identifiers, the parts of snake_case and camelCase are words, too.
 * Chinese, Japanese and Korean text has no word boundaries.
 */
#include "base/query_words.h"

#include <string.h>

#include <utf8proc.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/stem.h"
#include "base/utf8.h"

enum {
    LONG_WORD = 5,    /* letters of a word whose beginning is searched, too */
    MAX_STEMMED = 64, /* code points of the longest word with a stem */
    MAX_FOLDED = 18   /* maximum number of code points of a folded character (U+FDFA) */
};

/* Writes the code points of a character without case and diacritics to out[MAX_FOLDED]. Returns their number. */
static size_t fold(uint32_t c, uint32_t *out) {
    utf8proc_int32_t folded[MAX_FOLDED];
    int last = UTF8PROC_BOUNDCLASS_START;
    if (c < 0x80) {
        out[0] = c >= 'A' && c <= 'Z' ? c + 32 : c;
        return 1;
    }
    const utf8proc_ssize_t n = utf8proc_decompose_char(
        (utf8proc_int32_t)c, folded, MAX_FOLDED, UTF8PROC_DECOMPOSE | UTF8PROC_CASEFOLD | UTF8PROC_STRIPMARK, &last);
    for (utf8proc_ssize_t i = 0; i < n && i < MAX_FOLDED; i++)
        out[i] = (uint32_t)folded[i];
    return n > 0 && n <= MAX_FOLDED ? (size_t)n : 0;
}

size_t aoei_word_decode(aoe_text text, size_t at, uint32_t *c) {
    const size_t n = aoei_utf8_decode(text.data + at, text.len - at, c);
    if (n)
        return n;
    *c = 0xfffd;
    return 1;
}

static int is_cjk(uint32_t c) {
    return (c >= 0x2e80 && c <= 0x9fff && !(c >= 0x3000 && c <= 0x3004)) || (c >= 0xac00 && c <= 0xd7af) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x3ffff);
}

int aoei_is_word_char(uint32_t c) {
    const utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
    return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_NO;
}

int aoei_is_word_boundary(uint32_t before, uint32_t after) {
    return !aoei_is_word_char(before) || !aoei_is_word_char(after) || is_cjk(before) || is_cjk(after) ||
           (utf8proc_category((utf8proc_int32_t)before) == UTF8PROC_CATEGORY_LL &&
            utf8proc_category((utf8proc_int32_t)after) == UTF8PROC_CATEGORY_LU);
}

/* Adds the beginnings of the long words of a query: two thirds of their letters. used: length of t->point. */
static void add_beginnings(aoei_query_words *t, aoe_text query, size_t used) {
    uint32_t c = 0;
    for (size_t at = 0; at < query.len && t->n < AOEI_QUERY_WORDS;) {
        size_t letters = 0, n = 0;
        while (at < query.len) {
            at += aoei_word_decode(query, at, &c);
            if (!aoei_is_word_char(c) || is_cjk(c))
                break;
            n += fold(c, t->point + used + n);
            letters++;
        }
        if (letters < LONG_WORD)
            continue;
        used += n > 6 ? n * 2 / 3 : 4;
        t->end[t->n++] = used;
    }
}

/* Writes the stem of the word that begins at text[at], without case and diacritics, to out[MAX_STEMMED]. Returns the
 * length of the stem, and sets *end to the end of the word; returns 0 if it has no stem. */
static size_t stem_of(aoe_text text, size_t at, uint32_t *out, size_t *end) {
    uint32_t before = 'a', c, folded[MAX_FOLDED];
    size_t n = 0;
    for (*end = at; *end < text.len;) {
        const size_t bytes = aoei_word_decode(text, *end, &c), folds = fold(c, folded);
        if (folds && (*end == at ? !aoei_is_word_char(c) : aoei_is_word_boundary(before, c)))
            break;
        if (is_cjk(c) || folds > MAX_STEMMED - n)
            return 0;
        memcpy(out + n, folded, folds * sizeof *out);
        n += folds;
        before = folds ? c : before; /* combining marks belong to the word */
        *end += bytes;
    }
    return aoei_stem(out, n);
}

/* Adds the stems of the first words. A word with joiners, such as a path, has no stem. */
static int add_stems(aoei_query_words *t, const char *const *terms, aoe_error *err) {
    size_t used = 0, end;
    t->stem = aoei_calloc(t->n_words + 1, MAX_STEMMED * sizeof *t->stem);
    t->stem_end = aoei_calloc(t->n_words + 1, sizeof *t->stem_end);
    if (!t->stem || !t->stem_end)
        return aoei_fail_nomem(err, t->n_words * MAX_STEMMED * sizeof *t->stem);
    for (size_t i = 0; i < t->n_words; i++) {
        const size_t n = stem_of(aoe_text_of(terms[i]), 0, t->stem + used, &end);
        used += end == strlen(terms[i]) ? n : 0;
        t->stem_end[i] = used;
    }
    return 0;
}

int aoei_query_words_create(aoei_query_words *t, const aoe_index_hits *found, aoe_text query, aoe_error *err) {
    const char *const *terms = found->term;
    *t = (aoei_query_words){.n = found->n_terms < AOEI_QUERY_WORDS ? found->n_terms : AOEI_QUERY_WORDS};
    size_t used = 0, bytes = query.len + 1;
    for (size_t i = 0; i < t->n; i++)
        bytes += strlen(terms[i]);
    t->point = aoei_calloc(bytes, MAX_FOLDED * sizeof *t->point);
    t->end = aoei_calloc(AOEI_QUERY_WORDS, sizeof *t->end);
    if (!t->point || !t->end)
        return aoei_fail_nomem(err, bytes * MAX_FOLDED * sizeof *t->point);
    t->n_words = t->n;
    for (size_t i = 0; i < t->n; i++) {
        const aoe_text term = aoe_text_of(terms[i]);
        uint32_t c;
        for (size_t at = 0; at < term.len;) {
            at += aoei_word_decode(term, at, &c);
            used += fold(c, t->point + used);
        }
        t->end[i] = used;
    }
    add_beginnings(t, query, used);
    return found->stems ? add_stems(t, terms, err) : 0;
}

void aoei_query_words_free(aoei_query_words *t) {
    aoei_free(t->point);
    aoei_free(t->end);
    aoei_free(t->stem);
    aoei_free(t->stem_end);
    *t = (aoei_query_words){0};
}

size_t aoei_query_words_match(const aoei_query_words *t, aoe_text text, size_t at, size_t term) {
    size_t next = term ? t->end[term - 1] : 0;
    const size_t end = t->end[term];
    uint32_t c = 0, folded[MAX_FOLDED];
    if (next == end)
        return 0;
    while (next < end && at < text.len) {
        at += aoei_word_decode(text, at, &c);
        const size_t n = fold(c, folded);
        if (n > end - next || memcmp(folded, t->point + next, n * sizeof *folded) != 0)
            return 0;
        next += n;
    }
    if (term >= t->n_words)
        return next == end ? at : 0;
    uint32_t after;
    while (at < text.len) { /* combining marks belong to the word */
        const size_t n = aoei_word_decode(text, at, &after);
        if (fold(after, folded))
            return next == end && aoei_is_word_boundary(c, after) ? at : 0;
        at += n;
    }
    return next == end ? at : 0;
}

/* Returns the end of the word at `at` if it has the stem of a word of the query, and sets *term to this word; otherwise
 * 0. */
static size_t match_stem(aoe_text text, size_t at, const aoei_query_words *t, size_t *term) {
    uint32_t word[MAX_STEMMED];
    size_t end, start = 0;
    const size_t n = t->stem ? stem_of(text, at, word, &end) : 0;
    for (size_t i = 0; n && i < t->n_words; start = t->stem_end[i++])
        if (t->stem_end[i] - start == n && memcmp(word, t->stem + start, n * sizeof *word) == 0) {
            *term = i;
            return end;
        }
    return 0;
}

/* Returns the end of the longest word at a boundary, and sets *term to it; 0: there is none. */
static size_t match_any(const aoei_query_words *t, aoe_text text, size_t at, size_t *term) {
    size_t end = 0;
    *term = 0;
    for (size_t i = 0; i < t->n; i++) {
        const size_t e = end && i >= t->n_words ? 0 : aoei_query_words_match(t, text, at, i);
        if (e > end) {
            end = e;
            *term = i;
        }
    }
    if (end && *term < t->n_words)
        return end;
    const size_t e = match_stem(text, at, t, term);
    return e ? e : end;
}

int aoei_query_words_find(const aoei_query_words *t, aoe_text text, aoei_word_match **match, size_t *n,
                          aoe_error *err) {
    uint32_t before = ' ', c;
    size_t capacity = 0, term;
    *match = NULL;
    *n = 0;
    for (size_t at = 0; at < text.len;) {
        const size_t bytes = aoei_word_decode(text, at, &c);
        const size_t end = aoei_is_word_boundary(before, c) ? match_any(t, text, at, &term) : 0;
        before = c;
        if (!end) {
            at += bytes;
            continue;
        }
        if (aoei_grow((void **)match, &capacity, *n, sizeof **match)) {
            aoei_free(*match);
            *match = NULL;
            *n = 0;
            return aoei_fail_nomem(err, capacity * sizeof **match);
        }
        (*match)[(*n)++] = (aoei_word_match){at, end, term};
        while (at < end)
            at += aoei_word_decode(text, at, &before);
    }
    return 0;
}
