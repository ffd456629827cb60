/* SPDX-License-Identifier: MIT
 * Finds headings, code blocks, tables and lists in Markdown (CommonMark with tables), and headings in plain text. Each
 * line is processed once; the state is the open code block. The differences from CommonMark are: a fence may be
 * indented by more than three columns, because fences in lists are; an underlined heading is one line; and code blocks
 * inside quotes are not recognized.
 */
#include "document/markdown_outline.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { FRONT_MATTER_LINES = 500 /* a longer one is not recognized */ };

typedef struct markdown {
    aoei_outline *o;
    uint8_t *level;    /* [o->n_lines] levels of headings; 0: not a heading */
    uint32_t section;  /* current section */
    uint32_t block;    /* open code block or table; 0: none */
    size_t fence;      /* length of the open fence; 0: none */
    char fence_char;   /* '`' or '~' */
    int indented_code; /* 1: `block` is indented code */
    int in_list;       /* 1: indented lines belong to an item of a list */
} markdown;

/* Text of the line without its indentation, and its length in *len. */
static const char *content(const aoei_outline *o, const aoei_outline_line *line, size_t *len) {
    const char *s = o->text.data + line->start, *end = s + line->len;
    while (s < end && (*s == ' ' || *s == '\t'))
        s++;
    *len = (size_t)(end - s);
    return s;
}

/* Number of characters c at the beginning of s[len]. */
static size_t count_char(const char *s, size_t len, char c) {
    size_t n = 0;
    while (n < len && s[n] == c)
        n++;
    return n;
}

/* Returns 1 if s[len] consists of at least three of the same character of "-*_", with or without spaces. */
static int is_rule(const char *s, size_t len) {
    size_t n = 0;
    if (!len || (*s != '-' && *s != '*' && *s != '_'))
        return 0;
    for (size_t i = 0; i < len; i++) {
        if (s[i] != *s && s[i] != ' ' && s[i] != '\t')
            return 0;
        n += s[i] == *s;
    }
    return n >= 3;
}

/* Returns 1 if the line begins an item of a list. */
static int is_item(const char *s, size_t len) {
    size_t n = 0;
    if (len >= 2 && strchr("-*+", *s))
        n = 1;
    else
        while (n < len && n < 9 && s[n] >= '0' && s[n] <= '9')
            n++;
    const size_t digits = n;
    if (digits && len > n && (s[n] == '.' || s[n] == ')'))
        n++;
    else if (digits && !strchr("-*+", *s))
        return 0;
    return n && len > n && (s[n] == ' ' || s[n] == '\t');
}

/* Returns 1 for the line below the header of a table, such as "| --- | :-: |". */
static int is_delimiter_row(const char *s, size_t len) {
    int bar = 0, dash = 0;
    for (size_t i = 0; i < len; i++) {
        if (!strchr("|-: \t", s[i]) || !s[i])
            return 0;
        bar |= s[i] == '|';
        dash |= s[i] == '-';
    }
    return bar && dash;
}

/* Copies a title without emphasis, code marks, link targets and HTML tags to `out`. */
static void plain_title(aoei_buffer *out, const char *s, size_t len) {
    for (size_t i = 0; i < len; i++) {
        const char *end = NULL;
        if (s[i] == '`' || s[i] == '*' || (s[i] == '\\' && i + 1 < len) || s[i] == '[')
            continue;
        if (s[i] == ']' && i + 1 < len && s[i + 1] == '(')
            end = memchr(s + i, ')', len - i);
        else if (s[i] == '<' && i + 1 < len &&
                 (s[i + 1] == '/' || ((s[i + 1] | 0x20) >= 'a' && (s[i + 1] | 0x20) <= 'z')))
            end = memchr(s + i, '>', len - i);
        else if (s[i] == '{' && i + 1 < len && s[i + 1] == '#')
            end = memchr(s + i, '}', len - i);
        else if (s[i] == ']')
            continue;
        if (end)
            i = (size_t)(end - s);
        else
            aoei_buffer_putc(out, s[i]);
    }
}

/* Begins a section with the heading line i, whose title is s[len]. */
static int begin_section(markdown *m, size_t i, unsigned level, const char *s, size_t len, aoe_error *err) {
    aoei_buffer title = {0};
    plain_title(&title, s, len);
    const char *plain = title.data ? title.data : "";
    const int rc = title.failed ? aoei_fail_nomem(err, len)
                                : aoei_outline_heading(m->o, i, level, plain, title.len, &m->section, err);
    aoei_buffer_free(&title);
    m->level[i] = (uint8_t)level;
    m->in_list = 0;
    return rc;
}

/* Marks line i as a line of the current block. */
static void add_to_block(markdown *m, size_t i) {
    m->o->line[i].block = m->block;
    m->o->line[i].flags &= (uint8_t)~AOEI_LINE_PROSE;
}

/* Handles lines of code blocks. Returns 1 if line i is in a code block. */
static int read_code(markdown *m, size_t i, const char *s, size_t len) {
    aoei_outline_line *line = &m->o->line[i];
    const size_t mark = len && (*s == '`' || *s == '~') ? count_char(s, len, *s) : 0;
    if (m->fence) {
        add_to_block(m, i);
        if (mark >= m->fence && *s == m->fence_char && mark == len)
            m->fence = m->block = 0;
        return 1;
    }
    if (mark >= 3 && (*s == '~' || !memchr(s + mark, '`', len - mark))) {
        m->fence = mark;
        m->fence_char = *s;
        m->block = ++m->o->n_blocks;
        m->indented_code = 0;
        add_to_block(m, i);
        return 1;
    }
    if (line->indent >= 4 && (m->indented_code || (!m->in_list && (i == 0 || line->flags & AOEI_LINE_BLANK)))) {
        if (!m->indented_code)
            m->block = ++m->o->n_blocks;
        m->indented_code = 1;
        add_to_block(m, i);
        return 1;
    }
    if (m->indented_code)
        m->indented_code = (int)(m->block = 0);
    return 0;
}

/* Handles rows of tables. Returns 1 if line i is a row. */
static int read_table(markdown *m, size_t i, const char *s, size_t len) {
    aoei_outline_line *line = &m->o->line[i];
    const int blank = (line->flags & AOEI_LINE_BLANK) != 0, bar = len && memchr(s, '|', len) != NULL;
    if (m->block && (blank || !bar))
        m->block = 0;
    if (!bar)
        return 0;
    if (!m->block && *s == '|') {
        m->block = ++m->o->n_blocks;
    } else if (!m->block && i && !blank && is_delimiter_row(s, len) && !m->o->line[i - 1].block) {
        m->block = ++m->o->n_blocks;
        add_to_block(m, i - 1);
    }
    if (m->block)
        add_to_block(m, i);
    return m->block != 0;
}

/* Returns the level of the heading that the line below the paragraph line i - 1 marks, or 0. */
static unsigned underline_level(const markdown *m, size_t i, const char *s, size_t len) {
    const aoei_outline_line *line = &m->o->line[i];
    if (i == 0 || len < 2 || (*s != '=' && *s != '-') || count_char(s, len, *s) < len || line->indent > 3 ||
        line->flags & AOEI_LINE_BLANK)
        return 0;
    const aoei_outline_line *title = line - 1;
    const int alone =
        i == 1 || title->flags & AOEI_LINE_BLANK || title[-1].block || title[-1].flags & AOEI_LINE_HEADING;
    size_t n;
    const char *t = content(m->o, title, &n);
    if (!alone || title->block || title->indent > 3 || title->flags & (AOEI_LINE_HEADING | AOEI_LINE_ITEM) || *t == '>')
        return 0;
    return *s == '=' ? 1 : 2;
}

static int read_line(markdown *m, size_t i, aoe_error *err) {
    aoei_outline_line *line = &m->o->line[i];
    size_t len;
    const char *s = content(m->o, line, &len);
    line->section = m->section;
    if (read_code(m, i, s, len) || read_table(m, i, s, len))
        return 0;
    const size_t marks = count_char(s, len, '#');
    if (line->indent <= 3 && marks && marks <= 6 && (marks == len || s[marks] == ' ' || s[marks] == '\t')) {
        while (len > marks && (s[len - 1] == '#' || s[len - 1] == ' '))
            len--;
        return begin_section(m, i, (unsigned)marks, s + marks, len - marks, err);
    }
    const unsigned level = underline_level(m, i, s, len);
    if (level) {
        size_t n;
        const char *title = content(m->o, line - 1, &n);
        const int rc = begin_section(m, i - 1, level, title, n, err);
        line->section = m->section;
        line->flags = (uint8_t)((line->flags | AOEI_LINE_HEADING) & ~AOEI_LINE_PROSE);
        return rc;
    }
    if (is_rule(s, len))
        line->flags |= AOEI_LINE_RULE;
    else if (is_item(s, len))
        line->flags |= AOEI_LINE_ITEM;
    if (line->flags & AOEI_LINE_ITEM)
        m->in_list = 1;
    else if (line->indent == 0 && line->flags & AOEI_LINE_BLANK)
        m->in_list = 0;
    return 0;
}

/* Stores the value of a line "title: VALUE" or "title = VALUE" of the front matter. */
static int read_title(aoei_outline *o, const aoei_outline_line *line, char separator, aoe_error *err) {
    size_t len, n = 5;
    const char *s = content(o, line, &len);
    if (line->indent || o->title || len < 6 || memcmp(s, "title", 5) != 0)
        return 0;
    while (n < len && s[n] == ' ')
        n++;
    if (n == len || s[n++] != separator)
        return 0;
    while (n < len && s[n] == ' ')
        n++;
    if (len - n >= 2 && (s[n] == '"' || s[n] == '\'') && s[len - 1] == s[n]) {
        n++;
        len--;
    }
    if (n == len)
        return 0;
    char title[200];
    aoei_outline_title(s + n, len - n, title, sizeof title);
    o->title = aoei_strdup(title);
    return o->title ? 0 : aoei_fail_nomem(err, sizeof title);
}

/* Returns the number of lines of the front matter, with both marks, or 0. Its lines without indentation are keys with
 * values, comments, and parts of lists and objects; so a document that begins with a horizontal rule has none. */
static size_t front_matter_lines(const aoei_outline *o, char *separator) {
    size_t len, keys = 0;
    const char *s = o->n_lines ? content(o, o->line, &len) : NULL;
    if (!s || len != 3 || o->line->line != 1 || o->line->indent ||
        (count_char(s, 3, '-') < 3 && count_char(s, 3, '+') < 3))
        return 0;
    const char mark = *s;
    *separator = mark == '-' ? ':' : '=';
    for (size_t i = 1; i < o->n_lines && i < FRONT_MATTER_LINES; i++) {
        s = content(o, &o->line[i], &len);
        if (o->line[i].indent)
            continue;
        if (len == 3 && (count_char(s, 3, mark) == 3 || (mark == '-' && count_char(s, 3, '.') == 3)))
            return keys ? i + 1 : 0;
        if (memchr(s, *separator, len))
            keys++;
        else if (!strchr("#-[]{}", *s))
            return 0;
    }
    return 0;
}

/* Removes the lines of the front matter, unless the document has no other lines. */
static int skip_front_matter(aoei_outline *o, aoe_error *err) {
    char separator;
    const size_t n = front_matter_lines(o, &separator);
    if (n == o->n_lines)
        return 0;
    for (size_t i = 1; i + 1 < n; i++) {
        const int rc = read_title(o, &o->line[i], separator, err);
        if (rc)
            return rc;
    }
    o->n_lines -= n;
    memmove(o->line, o->line + n, o->n_lines * sizeof *o->line);
    return 0;
}

int aoei_markdown_outline(aoei_outline *o, aoe_error *err) {
    int rc = aoei_outline_lines(o, err);
    if (!rc)
        rc = skip_front_matter(o, err);
    if (rc || !o->n_lines)
        return rc;
    markdown m = {.o = o, .level = aoei_calloc(o->n_lines, 1)};
    if (!m.level)
        return aoei_fail_nomem(err, o->n_lines);
    for (size_t i = 0; i < o->n_lines && !rc; i++)
        rc = read_line(&m, i, err);
    if (!rc)
        aoei_outline_weigh(o, m.level);
    aoei_free(m.level);
    return rc;
}

/* Returns the character of the underline at line i of a plain text, if line i - 1 is a heading, or 0. */
static char underline_char(const aoei_outline *o, size_t i) {
    if (i == 0)
        return 0;
    const aoei_outline_line *line = &o->line[i], *title = line - 1;
    size_t len, title_len;
    const char *s = content(o, line, &len), *t = content(o, title, &title_len);
    if (len < 3 || !strchr("=-~^\"'`#*+.:_", *s) || count_char(s, len, *s) < len)
        return 0;
    const int alone = i == 1 || title->flags & AOEI_LINE_BLANK ||
                      (line[-2].len == line->len && memcmp(o->text.data + line[-2].start, s, len) == 0);
    if (!alone || line->flags & AOEI_LINE_BLANK || title->flags & AOEI_LINE_HEADING || len + 2 < title_len ||
        len > title_len + 30 || title_len > 100 || count_char(t, title_len, *t) == title_len)
        return 0;
    return *s;
}

int aoei_text_outline(aoei_outline *o, aoe_error *err) {
    char order[8] = ""; /* underline characters in the order of their first use */
    int rc = aoei_outline_lines(o, err);
    if (rc || !o->n_lines)
        return rc;
    markdown m = {.o = o, .level = aoei_calloc(o->n_lines, 1)};
    if (!m.level)
        return aoei_fail_nomem(err, o->n_lines);
    for (size_t i = 0; i < o->n_lines && !rc; i++) {
        size_t len, n = strlen(order);
        const char c = underline_char(o, i), *s = content(o, &o->line[i], &len);
        o->line[i].section = m.section;
        if (c && !strchr(order, c) && n < 6)
            order[n] = c;
        if (c && strchr(order, c)) {
            const char *title = content(o, &o->line[i - 1], &len);
            rc = begin_section(&m, i - 1, (unsigned)(strchr(order, c) - order) + 1, title, len, err);
            o->line[i].section = m.section;
            o->line[i].flags |= AOEI_LINE_HEADING;
        } else if (is_item(s, len)) {
            o->line[i].flags |= AOEI_LINE_ITEM;
        }
    }
    if (!rc)
        aoei_outline_weigh(o, m.level);
    aoei_free(m.level);
    return rc;
}
