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
#include "cli/search/stem.h"

enum {
    MAX_TERMS = 64,   /* number of words that are searched; the time is proportional to it */
    LONG_WORD = 5,    /* letters of a word whose beginning is searched, too */
    WORD = 1000,      /* score of a word; that of a beginning is below it */
    MAX_STEMMED = 64, /* code points of the longest word with a stem */
    MAX_FOLDED = 18,  /* maximum number of code points of a folded character (U+FDFA) */
    TAB = 4           /* a tab continues at the next column that is a multiple of TAB */
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

/* Adds the beginnings of the long words of a query: two thirds of their letters. used: length of t->point. */
static void add_beginnings(cli_terms *t, aoe_text query, size_t used) {
    uint32_t c = 0;
    for (size_t at = 0; at < query.len && t->n < MAX_TERMS;) {
        size_t letters = 0, n = 0;
        while (at < query.len) {
            at += decode(query.data + at, query.len - at, &c);
            if (!is_word(c) || is_cjk(c))
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
        const size_t bytes = decode(text.data + *end, text.len - *end, &c), folds = fold(c, folded);
        if (folds && (*end == at ? !is_word(c) : is_boundary(before, c)))
            break;
        if (is_cjk(c) || folds > MAX_STEMMED - n)
            return 0;
        memcpy(out + n, folded, folds * sizeof *out);
        n += folds;
        before = folds ? c : before; /* combining marks belong to the word */
        *end += bytes;
    }
    return cli_stem(out, n);
}

/* Adds the stems of the first words. A word with joiners, such as a path, has no stem. */
static void add_stems(cli_terms *t, const char *const *terms) {
    size_t used = 0, end;
    t->stem = cli_calloc(t->n_words + 1, MAX_STEMMED * sizeof *t->stem);
    t->stem_end = cli_calloc(t->n_words + 1, sizeof *t->stem_end);
    for (size_t i = 0; i < t->n_words; i++) {
        const size_t n = stem_of(aoe_text_of(terms[i]), 0, t->stem + used, &end);
        used += end == strlen(terms[i]) ? n : 0;
        t->stem_end[i] = used;
    }
}

void cli_terms_create(cli_terms *t, const aoe_index_hits *found, aoe_text query) {
    const char *const *terms = found->term;
    *t = (cli_terms){.n = found->n_terms < MAX_TERMS ? found->n_terms : MAX_TERMS};
    size_t used = 0, bytes = query.len + 1;
    for (size_t i = 0; i < t->n; i++)
        bytes += strlen(terms[i]);
    t->point = cli_calloc(bytes, MAX_FOLDED * sizeof *t->point);
    t->end = cli_calloc(MAX_TERMS, sizeof *t->end);
    t->n_words = t->n;
    for (size_t i = 0; i < t->n; i++) {
        const size_t len = strlen(terms[i]);
        uint32_t c;
        for (size_t at = 0; at < len;) {
            at += decode(terms[i] + at, len - at, &c);
            used += fold(c, t->point + used);
        }
        t->end[i] = used;
    }
    add_beginnings(t, query, used);
    if (found->stems)
        add_stems(t, terms);
}

void cli_terms_free(cli_terms *t) {
    free(t->point);
    free(t->end);
    free(t->stem);
    free(t->stem_end);
    *t = (cli_terms){0};
}

/* Returns the end of the word `term`, or of the beginning of a word, if the text contains it at `at`, otherwise 0. */
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
    if (term >= t->n_words)
        return next == end ? at : 0;
    uint32_t after;
    while (at < text.len) { /* combining marks belong to the word */
        const size_t n = decode(text.data + at, text.len - at, &after);
        if (fold(after, folded))
            return next == end && is_boundary(c, after) ? at : 0;
        at += n;
    }
    return next == end ? at : 0;
}

void cli_append_unused_words(aoei_buffer *b, const cli_terms *t, aoe_text query) {
    uint32_t before = ' ', c;
    size_t start = 0, covered = 0; /* start of the current word, and end of the words that were searched */
    for (size_t at = 0, n; at < query.len; at += n) {
        n = decode(query.data + at, query.len - at, &c);
        if (!is_word(before))
            start = at;
        for (size_t i = 0; i < t->n_words && is_boundary(before, c); i++) {
            const size_t end = match_term(query, at, t, i);
            covered = end > covered ? end : covered;
        }
        uint32_t after = ' ';
        if (at + n < query.len)
            (void)decode(query.data + at + n, query.len - at - n, &after);
        if (is_word(c) && !is_word(after) && covered <= start) {
            aoei_buffer_putc(b, ' ');
            cli_append_visible(b, query.data + start, at + n - start);
        }
        before = c;
    }
}

/* Returns the end of the word at `at` if it has the stem of a word of the query, and sets *term to this word; otherwise
 * 0. */
static size_t match_stem(aoe_text text, size_t at, const cli_terms *t, size_t *term) {
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

static void find_matches(layout *l, const cli_terms *t) {
    uint32_t before = ' ', c;
    for (size_t at = 0; t && at < l->text.len;) {
        const size_t n = decode(l->text.data + at, l->text.len - at, &c);
        size_t end = 0, best = 0;
        for (size_t i = 0; i < t->n && is_boundary(before, c); i++) {
            const size_t e = end && i >= t->n_words ? 0 : match_term(l->text, at, t, i);
            if (e > end) { /* the longest word */
                end = e;
                best = i;
            }
        }
        if ((!end || best >= t->n_words) && is_boundary(before, c)) {
            const size_t e = match_stem(l->text, at, t, &best);
            end = e ? e : end;
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

/* Returns 1 if the text contains a letter or a digit. */
static int says_something(const char *s, size_t len) {
    uint32_t c;
    for (size_t at = 0; at < len;) {
        at += decode(s + at, len - at, &c);
        if (is_word(c))
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
static size_t score_window(const layout *l, size_t first, size_t n, const cli_terms *t) {
    unsigned char seen[MAX_TERMS] = {0};
    size_t score = 0;
    for (size_t i = 0; i < l->matches; i++) {
        const match *m = &l->match[i];
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
static size_t best_window(const layout *l, size_t n, const cli_terms *t, size_t *first) {
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
    (void)decode(s, len, &c);
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
        const int inside =
            o->highlight && next < l->matches && l->match[next].start <= at && l->match[next].term < o->terms->n_words;
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
