/* SPDX-License-Identifier: MIT
 * Divides a passage into rows, finds the words of a query in it (base/query_words.h), and selects the rows to print.
 */
#include "cli/search/snippet.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "base/alloc.h"
#include "cli/common/output.h"
#include "cli/common/visible.h"

enum {
    WORD = 1000, /* score of a word; that of a beginning is below it */
    TAB = 4      /* a tab continues at the next column that is a multiple of TAB */
};
#define HIGHLIGHT "\033[1;31m"
#define PLAIN     "\033[0m"

/* A row of the output: text[start] to text[end - 1]. */
typedef struct row {
    size_t start, end;
} row;

typedef struct layout {
    aoe_text text;
    aoei_word_match *match; /* [matches] in the order of the text, owned */
    size_t matches;
    row *row; /* [rows] owned */
    size_t rows, row_capacity;
} layout;

/* ------------------------------------------------------------------- words */

void cli_query_words(aoei_query_words *w, const aoe_index_hits *found, aoe_text query) {
    aoe_error err;
    if (!aoei_query_words_create(w, found, query, &err))
        return;
    cli_fail("%s", err.message);
    exit(1);
}

void cli_append_unused_words(aoei_buffer *b, const aoei_query_words *t, aoe_text query) {
    uint32_t before = ' ', c;
    size_t start = 0, covered = 0; /* start of the current word, and end of the words that were searched */
    for (size_t at = 0, n; at < query.len; at += n) {
        n = aoei_word_decode(query, at, &c);
        if (!aoei_is_word_char(before))
            start = at;
        for (size_t i = 0; i < t->n_words && aoei_is_word_boundary(before, c); i++) {
            const size_t end = aoei_query_words_match(t, query, at, i);
            covered = end > covered ? end : covered;
        }
        uint32_t after = ' ';
        if (at + n < query.len)
            (void)aoei_word_decode(query, at + n, &after);
        if (aoei_is_word_char(c) && !aoei_is_word_char(after) && covered <= start) {
            aoei_buffer_putc(b, ' ');
            cli_append_visible(b, query.data + start, at + n - start);
        }
        before = c;
    }
}

/* -------------------------------------------------------------------- rows */

/* Returns 1 if the text contains a letter or a digit. */
static int says_something(const char *s, size_t len) {
    uint32_t c;
    for (size_t at = 0; at < len;) {
        at += aoei_word_decode((aoe_text){s, len}, at, &c);
        if (aoei_is_word_char(c))
            return 1;
    }
    return 0;
}

/* Appends a row without the spaces at its end. all: 0: not if it contains neither letters nor digits. */
static void add_row(layout *l, size_t start, size_t end, int all) {
    while (end > start &&
           (l->text.data[end - 1] == ' ' || l->text.data[end - 1] == '\t' || l->text.data[end - 1] == '\r'))
        end--;
    if ((!all && !says_something(l->text.data + start, end - start)) ||
        aoei_grow((void **)&l->row, &l->row_capacity, l->rows, sizeof *l->row))
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
static void wrap_line(layout *l, size_t start, size_t end, size_t width, int all) {
    size_t column = 0, bytes, after_space = 0;
    for (size_t at = start; width && at < end; at += bytes) {
        const char *s = l->text.data + at;
        column = advance(s, end - at, column, &bytes);
        if (column > width && at > start && *s != ' ') {
            const size_t cut = after_space > start ? after_space : at;
            add_row(l, start, cut, all);
            start = at = cut;
            column = advance(l->text.data + at, end - at, 0, &bytes);
        }
        if (*s == ' ' || *s == '\t')
            after_space = at + bytes;
    }
    add_row(l, start, end, all);
}

static void find_rows(layout *l, size_t width, int all) {
    aoe_text t = l->text;
    while (t.len && (t.data[t.len - 1] == '\n' || t.data[t.len - 1] == '\r' || t.data[t.len - 1] == ' '))
        t.len--;
    for (size_t start = 0; start < t.len;) {
        const char *nl = memchr(t.data + start, '\n', t.len - start);
        const size_t end = nl ? (size_t)(nl - t.data) : t.len;
        if (l->rows || end > start || !all)
            wrap_line(l, start, end, width, all);
        start = end + 1;
    }
}

/* Returns the score of the rows from `first` to `first` + n - 1: the number of different words of the query decides,
 * then beginnings of words, the longest ones most, and the number of words. */
static size_t score_window(const layout *l, size_t first, size_t n, const aoei_query_words *t) {
    unsigned char seen[AOEI_QUERY_WORDS] = {0};
    size_t score = 0;
    for (size_t i = 0; i < l->matches; i++) {
        const aoei_word_match *m = &l->match[i];
        if (m->start < l->row[first].start || m->start >= l->row[first + n - 1].end)
            continue;
        if (m->term < t->n_words)
            score += seen[m->term] ? 1 : WORD;
        else if (!seen[m->term])
            score += 10 * (m->end - m->start);
        seen[m->term] = 1;
    }
    return score;
}

/* Sets *first to the first row of the best window of n rows; of equal neighbors, to the middle one. Returns its score.
 */
static size_t best_window(const layout *l, size_t n, const aoei_query_words *t, size_t *first) {
    size_t best = 0, equal = 0, best_score = 0; /* equal: windows after the best one with the same score */
    for (size_t i = 0; t && i + n <= l->rows; i++) {
        const size_t score = score_window(l, i, n, t);
        if (score > best_score) {
            best = i;
            best_score = score;
            equal = 0;
        } else if (score == best_score && i == best + equal + 1) {
            equal++;
        }
    }
    *first = best + (equal + 1) / 2;
    return best_score;
}

/* Returns 1 if a row is one of the headings, without the signs around it, or names a license. */
static int is_heading(const layout *l, const row *r, const char *headings) {
    static const char license[] = "SPDX-License-Identifier";
    const char *s = l->text.data + r->start, *end = l->text.data + r->end;
    for (const char *at = s; at + sizeof license - 1 <= end; at++)
        if (memcmp(at, license, sizeof license - 1) == 0)
            return 1;
    while (s < end && strchr("#= \t", *s) && *s)
        s++;
    while (end > s && strchr("#= \t", end[-1]) && end[-1])
        end--;
    for (const char *h = headings; h && end > s;) {
        const char *next = strstr(h, " > ");
        const size_t len = next ? (size_t)(next - h) : strlen(h);
        if (len == (size_t)(end - s) && memcmp(h, s, len) == 0)
            return 1;
        h = next ? next + 3 : NULL;
    }
    return 0;
}

/* Returns 1 if a sentence or a paragraph can begin with row i. */
static int begins_sentence(const layout *l, size_t i) {
    const row *before = &l->row[i - 1];
    size_t lines = 0;
    for (size_t at = before->end; at < l->row[i].start; at++)
        lines += l->text.data[at] == '\n';
    return lines > 1 || strchr(".!?", l->text.data[before->end - 1]) != NULL;
}

/* Returns 1 if a passage begins inside a sentence: with a small letter, but not with source code. */
static int begins_inside(const layout *l) {
    const char *s = l->text.data + l->row[0].start;
    const size_t len = l->row[0].end - l->row[0].start;
    uint32_t c;
    (void)aoei_word_decode((aoe_text){s, len}, 0, &c);
    for (size_t i = 0; i < len; i++)
        if (strchr("{};=", s[i]) && s[i])
            return 0;
    return utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_LL;
}

/* Returns the first row that says something in a passage without words of the query, such that n rows follow. */
static size_t first_telling_row(const layout *l, size_t n, const char *headings) {
    const size_t most = l->rows - n;
    size_t i = 0;
    for (size_t k = 1; begins_inside(l) && k <= most && k <= l->rows / 3 && !i; k++)
        i = begins_sentence(l, k) ? k : 0;
    while (i < most && is_heading(l, &l->row[i], headings))
        i++;
    return i;
}

static void append_row(aoei_buffer *b, const layout *l, const row *r, const cli_snippet *o) {
    size_t column = 0, next = 0; /* next: the first match that ends after the current character */
    int on = 0;
    cli_visible v;
    aoei_buffer_printf(b, "%*s", (int)o->indent, "");
    for (size_t at = r->start; at < r->end; at += v.bytes) {
        while (next < l->matches && l->match[next].end <= at)
            next++;
        const int inside = o->highlight && o->terms && next < l->matches && l->match[next].start <= at &&
                           l->match[next].term < o->terms->n_words;
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
    if (o->terms) /* without memory, the words are not highlighted */
        (void)aoei_query_words_find(o->terms, text, &l.match, &l.matches, NULL);
    /* A row has at least 20 columns, even if the terminal is narrower. */
    const size_t width = !o->width ? 0 : o->width > o->indent + 20 ? o->width - o->indent : 20;
    find_rows(&l, width, !o->rows);
    if (!l.rows)
        find_rows(&l, width, 1);
    const size_t n = o->rows && o->rows < l.rows ? o->rows : l.rows;
    if (n < l.rows && !best_window(&l, n, o->terms, &first))
        first = first_telling_row(&l, n, o->heading);
    for (size_t i = first; i < first + n; i++)
        append_row(b, &l, &l.row[i], o);
    aoei_free(l.match);
    aoei_free(l.row);
}
