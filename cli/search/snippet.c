/* SPDX-License-Identifier: MIT
 * Divides a passage into rows, finds the words of a query in it, and selects the rows to print. A word matches if the
 * text contains its letters, without regard to case and diacritics, between two word boundaries. In identifiers, the
 * parts of snake_case and camelCase are words, too. Chinese, Japanese and Korean text has no word boundaries.
 */
#include "cli/search/snippet.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "cli/common/output.h"
#include "cli/common/visible.h"

enum {
    MAX_TERMS = 64,  /* number of words that are searched; the time is proportional to it */
    MAX_FOLDED = 18, /* maximum number of code points of a folded character (U+FDFA) */
    TAB = 4          /* a tab continues at the next column that is a multiple of TAB */
};
#define HIGHLIGHT "\033[1;31m"
#define PLAIN     "\033[0m"

/* A word of the query in the text. */
typedef struct match {
    size_t start, end; /* the word is text[start] to text[end - 1] */
    size_t term;       /* index of the word in the query */
} match;

/* A row of the output: text[start] to text[end - 1]. */
typedef struct row {
    size_t start, end;
} row;

typedef struct layout {
    aoe_text text;
    match *match; /* [matches] in the order of the text, owned */
    size_t matches, match_capacity;
    row *row; /* [rows] owned */
    size_t rows, row_capacity;
} layout;

/* ------------------------------------------------------------------- words */

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

/* Decodes a character. An invalid byte is the character U+FFFD. */
static size_t decode(const char *s, size_t len, uint32_t *c) {
    const size_t n = aoei_utf8_decode(s, len, c);
    if (n)
        return n;
    *c = 0xfffd;
    return 1;
}

static int is_cjk(uint32_t c) {
    return (c >= 0x2e80 && c <= 0x9fff && !(c >= 0x3000 && c <= 0x3004)) || (c >= 0xac00 && c <= 0xd7af) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x3ffff);
}

static int is_word(uint32_t c) {
    const utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
    return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_NO;
}

/* Returns 1 if a word can end before the character `after` and start with it. */
static int is_boundary(uint32_t before, uint32_t after) {
    return !is_word(before) || !is_word(after) || is_cjk(before) || is_cjk(after) ||
           (utf8proc_category((utf8proc_int32_t)before) == UTF8PROC_CATEGORY_LL &&
            utf8proc_category((utf8proc_int32_t)after) == UTF8PROC_CATEGORY_LU);
}

void cli_terms_create(cli_terms *t, const char *const *terms, size_t n) {
    *t = (cli_terms){.n = n < MAX_TERMS ? n : MAX_TERMS};
    size_t used = 0, bytes = 1;
    for (size_t i = 0; i < t->n; i++)
        bytes += strlen(terms[i]);
    t->point = cli_calloc(bytes, MAX_FOLDED * sizeof *t->point);
    t->end = cli_calloc(t->n + 1, sizeof *t->end);
    for (size_t i = 0; i < t->n; i++) {
        const size_t len = strlen(terms[i]);
        uint32_t c;
        for (size_t at = 0; at < len;) {
            at += decode(terms[i] + at, len - at, &c);
            used += fold(c, t->point + used);
        }
        t->end[i] = used;
    }
}

void cli_terms_free(cli_terms *t) {
    free(t->point);
    free(t->end);
    *t = (cli_terms){0};
}

/* Returns the end of the word `term` if the text contains it at `at`, otherwise 0. */
static size_t match_term(aoe_text text, size_t at, const cli_terms *t, size_t term) {
    size_t next = term ? t->end[term - 1] : 0;
    const size_t end = t->end[term];
    uint32_t c = 0, folded[MAX_FOLDED];
    if (next == end)
        return 0;
    while (next < end && at < text.len) {
        at += decode(text.data + at, text.len - at, &c);
        const size_t n = fold(c, folded);
        if (n > end - next || memcmp(folded, t->point + next, n * sizeof *folded) != 0)
            return 0;
        next += n;
    }
    uint32_t after;
    while (at < text.len) { /* combining marks belong to the word */
        const size_t n = decode(text.data + at, text.len - at, &after);
        if (fold(after, folded))
            return next == end && is_boundary(c, after) ? at : 0;
        at += n;
    }
    return next == end ? at : 0;
}

static void find_matches(layout *l, const cli_terms *t) {
    uint32_t before = ' ', c;
    for (size_t at = 0; t && at < l->text.len;) {
        const size_t n = decode(l->text.data + at, l->text.len - at, &c);
        size_t end = 0, best = 0;
        for (size_t i = 0; i < t->n && is_boundary(before, c); i++) {
            const size_t e = match_term(l->text, at, t, i);
            if (e > end) { /* the longest word */
                end = e;
                best = i;
            }
        }
        before = c;
        if (!end) {
            at += n;
            continue;
        }
        if (aoei_grow((void **)&l->match, &l->match_capacity, l->matches, sizeof *l->match))
            return; /* without memory, the other words are not highlighted */
        l->match[l->matches++] = (match){at, end, best};
        while (at < end)
            at += decode(l->text.data + at, l->text.len - at, &before);
    }
}

/* -------------------------------------------------------------------- rows */

/* Appends a row without the spaces at its end. */
static void add_row(layout *l, size_t start, size_t end, int keep_empty) {
    while (end > start &&
           (l->text.data[end - 1] == ' ' || l->text.data[end - 1] == '\t' || l->text.data[end - 1] == '\r'))
        end--;
    if ((end == start && !keep_empty) || aoei_grow((void **)&l->row, &l->row_capacity, l->rows, sizeof *l->row))
        return;
    l->row[l->rows++] = (row){start, end};
}

/* Returns the column after a character at column `column`. */
static size_t advance(const char *s, size_t len, size_t column, size_t *bytes) {
    cli_visible v;
    cli_visible_char(&v, s, len);
    *bytes = v.bytes;
    return *s == '\t' ? (column / TAB + 1) * TAB : column + v.columns;
}

/* Divides the line text[start, end) into rows of at most `width` columns (0: one row), after spaces if possible. */
static void wrap_line(layout *l, size_t start, size_t end, size_t width, int keep_empty) {
    size_t column = 0, bytes, after_space = 0;
    for (size_t at = start; width && at < end; at += bytes) {
        const char *s = l->text.data + at;
        column = advance(s, end - at, column, &bytes);
        if (column > width && at > start && *s != ' ') {
            const size_t cut = after_space > start ? after_space : at;
            add_row(l, start, cut, keep_empty);
            start = at = cut;
            column = advance(l->text.data + at, end - at, 0, &bytes);
        }
        if (*s == ' ' || *s == '\t')
            after_space = at + bytes;
    }
    add_row(l, start, end, keep_empty);
}

static void find_rows(layout *l, size_t width, int keep_empty) {
    aoe_text t = l->text;
    while (t.len && (t.data[t.len - 1] == '\n' || t.data[t.len - 1] == '\r' || t.data[t.len - 1] == ' '))
        t.len--;
    for (size_t start = 0; start < t.len;) {
        const char *nl = memchr(t.data + start, '\n', t.len - start);
        const size_t end = nl ? (size_t)(nl - t.data) : t.len;
        wrap_line(l, start, end, width, keep_empty && (l->rows || end > start));
        start = end + 1;
    }
}

/* Returns the first row of the window of n rows that contains the most different words of the query and, among equal
 * windows, the most words. */
static size_t best_window(const layout *l, size_t n) {
    size_t best = 0, best_score = 0;
    for (size_t first = 0; first + n <= l->rows; first++) {
        unsigned char seen[MAX_TERMS] = {0};
        size_t score = 0;
        for (size_t i = 0; i < l->matches; i++) {
            const match *m = &l->match[i];
            if (m->start < l->row[first].start || m->start >= l->row[first + n - 1].end)
                continue;
            score += seen[m->term] ? 1 : 1000;
            seen[m->term] = 1;
        }
        if (score > best_score) {
            best = first;
            best_score = score;
        }
    }
    return best;
}

static void append_row(aoei_buffer *b, const layout *l, const row *r, const cli_snippet *o) {
    size_t column = 0, next = 0; /* next: the first match that ends after the current character */
    int on = 0;
    cli_visible v;
    aoei_buffer_printf(b, "%*s", (int)o->indent, "");
    for (size_t at = r->start; at < r->end; at += v.bytes) {
        while (next < l->matches && l->match[next].end <= at)
            next++;
        const int inside = o->highlight && next < l->matches && l->match[next].start <= at;
        if (inside != on)
            aoei_buffer_printf(b, "%s", inside ? HIGHLIGHT : PLAIN);
        on = inside;
        cli_visible_char(&v, l->text.data + at, r->end - at);
        if (l->text.data[at] == '\t') {
            const size_t to = (column / TAB + 1) * TAB;
            aoei_buffer_printf(b, "%*s", (int)(to - column), "");
            column = to;
        } else {
            aoei_buffer_append(b, v.out, v.n);
            column += v.columns;
        }
    }
    aoei_buffer_printf(b, "%s\n", on ? PLAIN : "");
}

void cli_append_snippet(aoei_buffer *b, aoe_text text, const cli_snippet *o) {
    layout l = {.text = text};
    size_t first = 0;
    find_matches(&l, o->terms);
    /* A row has at least 20 columns, even if the terminal is narrower. */
    const size_t width = !o->width ? 0 : o->width > o->indent + 20 ? o->width - o->indent : 20;
    find_rows(&l, width, !o->rows);
    const size_t n = o->rows && o->rows < l.rows ? o->rows : l.rows;
    if (n < l.rows)
        first = best_window(&l, n);
    for (size_t i = first; i < first + n; i++)
        append_row(b, &l, &l.row[i], o);
    aoei_free(l.match);
    aoei_free(l.row);
}
