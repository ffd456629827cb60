/* SPDX-License-Identifier: MIT
 * Extracts the visible text of HTML (html_text.h). The parser keeps a stack of the open elements of limited depth, so
 * that each tag takes constant time. Line breaks and spaces are pending until the next visible character, so that no
 * two of them follow each other.
 */
#include "document/html_text.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include "document/html_entities.h"

enum { DEPTH = 256 /* open elements that are distinguished; deeper ones are only counted */, NAME = 12 };

enum {
    TAG_LINE = 1,       /* begins and ends a line */
    TAG_BLANK = 2,      /* begins and ends a paragraph */
    TAG_VOID = 4,       /* has no end tag */
    TAG_HIDDEN = 8,     /* its contents are not visible */
    TAG_RAW = 16,       /* its contents are not parsed */
    TAG_PRE = 32,       /* its contents keep their white space */
    TAG_LIST = 64,      /* ul, ol */
    TAG_CELL = 128,     /* td, th */
    TAG_CLOSES_P = 256, /* its start tag ends an open paragraph */
    TAG_SELF = 512,     /* its start tag ends an open element with the same tag */
};

typedef struct tag {
    char name[NAME];
    unsigned flags;
} tag;

#define BLOCK (TAG_BLANK | TAG_CLOSES_P)

static const tag unknown = {"", 0}; /* an element that does not change the text around it */

/* The other elements, sorted by name. */
static const tag tags[] = {
    {"address", BLOCK},
    {"area", TAG_VOID},
    {"article", BLOCK},
    {"aside", BLOCK},
    {"base", TAG_VOID},
    {"blockquote", BLOCK},
    {"body", TAG_LINE},
    {"br", TAG_VOID},
    {"button", 0},
    {"caption", TAG_LINE},
    {"center", BLOCK},
    {"col", TAG_VOID},
    {"dd", TAG_LINE | TAG_SELF},
    {"details", BLOCK},
    {"dialog", BLOCK},
    {"dir", BLOCK | TAG_LIST},
    {"div", TAG_LINE | TAG_CLOSES_P},
    {"dl", BLOCK | TAG_LIST},
    {"dt", TAG_LINE | TAG_SELF},
    {"embed", TAG_VOID},
    {"fieldset", BLOCK},
    {"figcaption", TAG_LINE | TAG_CLOSES_P},
    {"figure", BLOCK},
    {"footer", BLOCK},
    {"form", BLOCK},
    {"frameset", TAG_HIDDEN},
    {"h1", BLOCK},
    {"h2", BLOCK},
    {"h3", BLOCK},
    {"h4", BLOCK},
    {"h5", BLOCK},
    {"h6", BLOCK},
    {"header", BLOCK},
    {"hr", BLOCK | TAG_VOID},
    {"iframe", TAG_HIDDEN | TAG_RAW},
    {"img", TAG_VOID},
    {"input", TAG_VOID},
    {"legend", TAG_LINE},
    {"li", TAG_LINE | TAG_SELF},
    {"link", TAG_VOID},
    {"main", BLOCK},
    {"menu", BLOCK | TAG_LIST},
    {"meta", TAG_VOID},
    {"nav", BLOCK},
    {"noframes", TAG_HIDDEN | TAG_RAW},
    {"noscript", TAG_HIDDEN},
    {"object", TAG_HIDDEN},
    {"ol", BLOCK | TAG_LIST},
    {"optgroup", TAG_LINE},
    {"option", TAG_LINE | TAG_SELF},
    {"p", BLOCK},
    {"param", TAG_VOID},
    {"pre", BLOCK | TAG_PRE},
    {"script", TAG_HIDDEN | TAG_RAW},
    {"search", BLOCK},
    {"section", BLOCK},
    {"select", TAG_LINE},
    {"source", TAG_VOID},
    {"style", TAG_HIDDEN | TAG_RAW},
    {"summary", TAG_LINE},
    {"svg", TAG_HIDDEN},
    {"table", BLOCK},
    {"td", TAG_CELL | TAG_SELF},
    {"template", TAG_HIDDEN},
    {"textarea", TAG_LINE | TAG_PRE},
    {"th", TAG_CELL | TAG_SELF},
    {"title", TAG_RAW},
    {"tr", TAG_LINE | TAG_SELF},
    {"track", TAG_VOID},
    {"ul", BLOCK | TAG_LIST},
    {"wbr", TAG_VOID},
    {"xmp", BLOCK | TAG_PRE | TAG_RAW},
};

typedef struct element { /* an open element */
    const tag *tag;
    aoe_text name;        /* in the source; distinguishes elements whose tag is `unknown` */
    int hidden;           /* 1: its contents are not visible */
    uint32_t outer_block; /* block before the element */
} element;

typedef struct parser {
    aoei_html_text *h;
    const char *s;
    size_t len, at; /* length of the source; position of the next character */
    size_t counted; /* newlines before this position are included in `line` */
    uint32_t line;  /* line number at `counted` */
    element stack[DEPTH];
    size_t depth, overflow;                      /* open elements on the stack, and those that did not fit */
    size_t hidden, pre, lists, headings, tables; /* numbers of open elements of these kinds */
    uint32_t block;                              /* current block; 0: none */
    uint8_t level;                               /* level of the open heading */
    int breaks;                                  /* pending newlines: 0, 1 or 2 */
    int space;                                   /* pending white space; 2: it contained a newline */
    int separators;                              /* pending cell separators */
    int cells;                                   /* cells of the current row so far */
    int row_text;                                /* 1: the current row has text */
    int cell_broken;                             /* 1: the text of the current cell has several lines */
    int cell_start;                              /* 1: the current cell has no text yet */
    int item, rule;                              /* 1: the next line begins an item, or is below a rule */
    aoe_error *err;
    int rc;
} parser;

static int is_letter(char c) {
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static int is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n';
}

/* Starts a line of the text with the attributes of the current position. */
static void begin_line(parser *p) {
    aoei_html_text *h = p->h;
    if (aoei_grow((void **)&h->line, &h->capacity, h->n_lines, sizeof *h->line)) {
        p->rc = aoei_fail_nomem(p->err, h->n_lines * sizeof *h->line);
        return;
    }
    for (const char *newline; p->counted < p->at; p->counted++) {
        newline = memchr(p->s + p->counted, '\n', p->at - p->counted);
        if (!newline) {
            p->counted = p->at;
            break;
        }
        p->counted = (size_t)(newline - p->s);
        p->line++;
    }
    h->line[h->n_lines++] = (aoei_html_line){p->line, p->block, p->level, (uint8_t)p->item, (uint8_t)p->rule};
}

static void put_newline(parser *p) {
    aoei_buffer_putc(&p->h->text, '\n');
    begin_line(p);
}

/* Writes what is pending before a visible character. */
static void put_pending(parser *p) {
    aoei_buffer *text = &p->h->text;
    const int first = p->h->n_lines == 0;
    if (first)
        begin_line(p);
    if (p->breaks && !first) {
        for (int i = 0; i < p->breaks; i++)
            put_newline(p);
        p->cell_broken |= p->row_text;
    }
    p->row_text = 1;
    const int at_start = first || p->breaks;
    if (at_start && p->item) {
        for (size_t i = 1; i < p->lists && i < 8; i++)
            aoei_buffer_append(text, "  ", 2);
        aoei_buffer_append(text, "- ", 2);
    } else if (!at_start && p->separators) {
        for (int i = 0; i < p->separators; i++)
            aoei_buffer_append(text, " | ", 3);
    } else if (!at_start && p->space) {
        if (p->space == 2 && !p->headings && !p->tables && !p->pre)
            put_newline(p);
        else
            aoei_buffer_putc(text, ' ');
    }
    p->breaks = p->space = p->separators = p->item = p->rule = p->cell_start = 0;
}

/* Requests n newlines before the next character. Inside headings, and at the beginning of a cell, it requests a space.
 */
static void request_break(parser *p, int n) {
    if (p->hidden || p->cell_start)
        return;
    if (p->headings)
        p->space = p->space ? p->space : 1;
    else if (p->breaks < n)
        p->breaks = n;
}

/* Adds a character of the text. */
static void put_character(parser *p, const char *bytes, size_t n, uint32_t cp) {
    if (p->hidden || cp == 0xAD || cp == 0x200B || cp == 0xFEFF)
        return;
    if (cp < 0xA0 && (cp < ' ' || cp >= 0x7F) && cp != '\n' && cp != '\t')
        return; /* a control character in a character reference */
    if (p->pre && cp == '\n') {
        p->breaks = p->breaks ? 2 : 1; /* at most one blank line */
        return;
    }
    if (p->pre && (cp == ' ' || cp == '\t')) {
        if (p->h->n_lines == 0 || p->breaks)
            put_pending(p);
        aoei_buffer_append(&p->h->text, bytes, n);
        return;
    }
    if (cp == ' ' || cp == '\t' || cp == '\n' || cp == 0xA0) {
        p->space = cp == '\n' ? 2 : p->space ? p->space : 1;
        return;
    }
    if (p->breaks || p->space || p->separators || p->h->n_lines == 0 || p->item)
        put_pending(p);
    p->cell_start = 0;
    aoei_buffer_append(&p->h->text, bytes, n);
}

/* Adds the text at s[i], a character or a character reference. Returns its length. */
static size_t put_text(parser *p, const char *s, size_t len) {
    uint32_t cp = 0;
    char bytes[4];
    const size_t reference = *s == '&' ? aoei_html_entity(s, len, &cp) : 0;
    if (reference) {
        put_character(p, bytes, aoei_utf8_encode(cp, bytes), cp);
        return reference;
    }
    const size_t n = aoei_utf8_decode(s, len, &cp);
    put_character(p, s, n ? n : 1, n ? cp : ' ');
    return n ? n : 1;
}

static const tag *find_tag(const char *name, size_t len) {
    char key[NAME];
    size_t low = 0, high = sizeof tags / sizeof *tags;
    if (len >= sizeof key)
        return NULL;
    for (size_t i = 0; i < len; i++)
        key[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] | 0x20 : name[i]);
    key[len] = 0;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = strcmp(key, tags[middle].name);
        if (order == 0)
            return &tags[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static int is_tag(const tag *t, const char *name) {
    return strcmp(t->name, name) == 0;
}

/* Level of a heading, or 0. */
static uint8_t level_of(const tag *t) {
    return t->name[0] == 'h' && t->name[1] >= '1' && t->name[1] <= '6' ? (uint8_t)(t->name[1] - '0') : 0;
}

/* Counts an element that is opened (by = 1) or closed (by = (size_t)-1). */
static void count_element(parser *p, const element *e, size_t by) {
    p->hidden += e->hidden ? by : 0;
    p->pre += e->tag->flags & TAG_PRE ? by : 0;
    p->lists += e->tag->flags & TAG_LIST ? by : 0;
    p->headings += level_of(e->tag) ? by : 0;
    p->tables += is_tag(e->tag, "table") ? by : 0;
}

/* Number of newlines around the element. A list in a list has no blank lines around it. */
static int break_of(const parser *p, const tag *t) {
    if (t->flags & TAG_BLANK)
        return t->flags & TAG_LIST && p->lists ? 1 : 2;
    return t->flags & TAG_LINE ? 1 : 0;
}

/* Closes the innermost element. */
static void pop(parser *p) {
    const element e = p->stack[--p->depth];
    count_element(p, &e, (size_t)-1);
    if (level_of(e.tag))
        p->level = 0;
    if (e.tag->flags & TAG_PRE || is_tag(e.tag, "table"))
        p->block = e.outer_block ? ++p->h->n_blocks : 0; /* blocks are not nested: a new one follows */
    if (e.tag->flags & TAG_CELL)
        p->cell_start = 0;
    if (is_tag(e.tag, "li"))
        p->item = 0;
    if (is_tag(e.tag, "table"))
        p->cells = p->separators = 0; /* the next cell of a table around it begins a line */
    if (!e.hidden && break_of(p, e.tag))
        request_break(p, break_of(p, e.tag));
}

/* Closes the innermost open element with the tag and all elements in it, unless an element that limits implied ends,
 * such as a table, is inside. */
static void close_implied(parser *p, const char *name) {
    for (size_t i = p->depth; i > 0; i--) {
        const tag *t = p->stack[i - 1].tag;
        if (is_tag(t, name)) {
            while (p->depth >= i)
                pop(p);
            return;
        }
        const int cell = t->flags & TAG_CELL && strcmp(name, "tr") != 0; /* a row ends its cells */
        if (cell || t->flags & TAG_LIST || is_tag(t, "table") || is_tag(t, "button"))
            return;
    }
}

/* Writes an image as its alternative text. */
static void put_alternative(parser *p, const char *text, size_t len) {
    if (!len || p->hidden)
        return;
    p->space = p->space ? p->space : 1;
    for (size_t i = 0; i < len;)
        i += put_text(p, text + i, len - i);
    p->space = 1;
}

/* Closes the elements that the start tag ends implicitly. */
static void close_before(parser *p, const tag *t) {
    static const char *const pairs[][2] = {{"dt", "dd"}, {"dd", "dt"}, {"th", "td"}, {"td", "th"}};
    if (t->flags & TAG_CLOSES_P)
        close_implied(p, "p");
    while (p->headings && !p->hidden && t->flags & TAG_CLOSES_P && !is_tag(t, "div") && p->depth)
        pop(p); /* a heading contains no other block */
    if (t->flags & TAG_SELF)
        close_implied(p, t->name);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (is_tag(t, pairs[i][0]))
            close_implied(p, pairs[i][1]);
}

/* Begins a cell of a table: a separator, or a new line if the cells before it have several lines. */
static void begin_cell(parser *p) {
    if (p->cells++ && p->row_text && !p->cell_broken) {
        p->separators++;
        p->breaks = 0;
    } else if (p->cells > 1) {
        request_break(p, 1);
    }
    p->cell_broken = 0;
    p->cell_start = 1;
}

static void open_void(parser *p, const tag *t, int hidden, aoe_text alt) {
    if (is_tag(t, "br"))
        request_break(p, 1);
    if (is_tag(t, "img") && !hidden)
        put_alternative(p, alt.data, alt.len);
    if (is_tag(t, "hr") && !p->hidden)
        p->rule = 1;
}

/* Handles a start tag. alt: alternative text of an image. */
static void open_element(parser *p, const tag *t, aoe_text name, int hidden, aoe_text alt) {
    close_before(p, t);
    if (break_of(p, t) && !hidden)
        request_break(p, break_of(p, t));
    if (t->flags & TAG_VOID) {
        open_void(p, t, hidden, alt);
        return;
    }
    if (p->depth == DEPTH) {
        p->overflow++;
        return;
    }
    const element e = {t, name, hidden || t->flags & TAG_HIDDEN, p->block};
    p->stack[p->depth++] = e;
    count_element(p, &e, 1);
    if (p->hidden)
        return;
    if (level_of(t))
        p->level = level_of(t);
    if (t->flags & TAG_PRE || is_tag(t, "table"))
        p->block = ++p->h->n_blocks;
    if (is_tag(t, "tr"))
        p->cells = p->row_text = p->cell_broken = p->separators = 0;
    if (is_tag(t, "li"))
        p->item = 1;
    if (t->flags & TAG_CELL)
        begin_cell(p);
}

static int same_name(aoe_text a, aoe_text b) {
    return a.len == b.len && strncasecmp(a.data, b.data, a.len) == 0;
}

/* Handles an end tag, which closes the innermost element of its name. It ends no table around it, and no element such
 * as `template`, unless it is the end tag of this element. */
static void close_element(parser *p, const tag *t, aoe_text name) {
    if (t->flags & TAG_VOID)
        return;
    if (p->overflow) {
        p->overflow--;
        request_break(p, break_of(p, t));
        return;
    }
    for (size_t i = p->depth; i > 0; i--) {
        const element *e = &p->stack[i - 1];
        if (e->tag == t && (t != &unknown || same_name(e->name, name))) {
            while (p->depth >= i)
                pop(p);
            return;
        }
        if (is_tag(e->tag, "table") || e->tag->flags & TAG_HIDDEN)
            return;
    }
}

/* Returns the position after the end tag of an element whose contents are not parsed, and the end of the contents in
 * *end. */
static size_t raw_end(const parser *p, size_t from, const tag *t, size_t *end) {
    const size_t n = strlen(t->name);
    for (size_t i = from; i + n + 2 <= p->len; i++) {
        const char *next = memchr(p->s + i, '<', p->len - i);
        if (!next)
            break;
        i = (size_t)(next - p->s);
        if (i + n + 2 <= p->len && next[1] == '/' && strncasecmp(next + 2, t->name, n) == 0 &&
            (i + n + 2 == p->len || !is_letter(next[n + 2]))) {
            *end = i;
            const char *close = memchr(next, '>', p->len - i);
            return close ? (size_t)(close - p->s) + 1 : p->len;
        }
    }
    *end = p->len;
    return p->len;
}

static void read_raw(parser *p, const tag *t) {
    size_t end;
    const size_t n = strlen(t->name), after = raw_end(p, p->at, t, &end);
    if (is_tag(t, "title") && p->h->title.len == 0 && !p->hidden)
        while (p->at < end) {
            uint32_t cp = 0;
            char bytes[4];
            const size_t k = p->s[p->at] == '&' ? aoei_html_entity(p->s + p->at, end - p->at, &cp) : 0;
            aoei_buffer_append(&p->h->title, k ? bytes : p->s + p->at, k ? aoei_utf8_encode(cp, bytes) : 1);
            p->at += k ? k : 1;
        }
    if (t->flags & TAG_PRE) {
        const aoe_text name = {t->name, n};
        open_element(p, t, name, 0, (aoe_text){0});
        for (; p->at < end; p->at++)
            put_character(p, p->s + p->at, 1, (unsigned char)p->s[p->at] < 0x80 ? (unsigned char)p->s[p->at] : 0xFFFD);
        close_element(p, t, name);
    }
    p->at = after;
}

/* Reads the attribute at s[*i] of a tag. Returns 0 at the end of the tag. */
static int read_attribute(const parser *p, size_t *i, aoe_text *name, aoe_text *value) {
    const char *s = p->s;
    size_t k = *i;
    while (k < p->len && (is_space(s[k]) || s[k] == '/'))
        k++;
    const size_t start = k;
    while (k < p->len && s[k] != '>' && !is_space(s[k]) && s[k] != '/' && (s[k] != '=' || k == start))
        k++;
    *name = (aoe_text){s + start, k - start};
    *value = (aoe_text){s + k, 0};
    size_t next = k;
    while (next < p->len && is_space(s[next]))
        next++;
    if (k > start && next < p->len && s[next] == '=') {
        k = next + 1;
        while (k < p->len && is_space(s[k]))
            k++;
        const char quote = k < p->len && (s[k] == '"' || s[k] == '\'') ? s[k] : 0;
        const size_t first = k + (quote != 0);
        if (quote) {
            const char *end = memchr(s + first, quote, p->len - first);
            k = end ? (size_t)(end - s) : p->len;
        } else {
            while (k < p->len && s[k] != '>' && !is_space(s[k]))
                k++;
        }
        *value = (aoe_text){s + first, k - first};
        k += quote && k < p->len;
    }
    *i = k;
    return name->len > 0;
}

static int is_name(aoe_text name, const char *wanted) {
    return name.len == strlen(wanted) && strncasecmp(name.data, wanted, name.len) == 0;
}

/* Returns 1 if the style hides the element. */
static int hides(aoe_text style) {
    char plain[32];
    size_t n = 0;
    for (size_t i = 0; i < style.len && i < 200; i++) {
        if (is_space(style.data[i]))
            continue;
        if (n + 1 == sizeof plain)
            memmove(plain, plain + 1, --n);
        plain[n++] = (char)(style.data[i] | 0x20);
        if (n >= 12 && memcmp(plain + n - 12, "display:none", 12) == 0)
            return 1;
    }
    return 0;
}

/* Handles the tag at the current position, which begins with "<" or "</" and a letter. */
static void read_tag(parser *p) {
    const int is_end = p->s[p->at + 1] == '/';
    const size_t start = p->at + 1 + (size_t)is_end;
    size_t i = start;
    while (i < p->len && !is_space(p->s[i]) && p->s[i] != '/' && p->s[i] != '>')
        i++;
    const aoe_text name = {p->s + start, i - start};
    const tag *t = find_tag(name.data, name.len);
    aoe_text attribute, value, alt = {0};
    int hidden = 0;
    while (read_attribute(p, &i, &attribute, &value)) {
        hidden |= is_name(attribute, "hidden") || (is_name(attribute, "style") && hides(value));
        if (is_name(attribute, "alt"))
            alt = value;
    }
    const int empty = i < p->len && p->s[i - 1] == '/'; /* such as <svg/> */
    p->at = i + (i < p->len);
    if (!t && !hidden && !p->hidden)
        return; /* unknown elements are on the stack only inside hidden ones, to find the end of the hidden one */
    t = t ? t : &unknown;
    if (is_end)
        close_element(p, t, name);
    else if (t->flags & TAG_RAW)
        read_raw(p, t);
    else if (!empty || (t != &unknown && !(t->flags & TAG_HIDDEN)))
        open_element(p, t, name, hidden, alt);
}

/* Skips a comment, a declaration or a processing instruction. */
static void skip_declaration(parser *p) {
    const char *end = NULL, *from = p->s + p->at + 2;
    size_t left = p->len - p->at - 2;
    if (left >= 2 && memcmp(from, "--", 2) == 0) {
        for (size_t i = 2; i + 1 < left; i++) {
            end = memchr(from + i, '>', left - i);
            if (!end || (end[-1] == '-' && end[-2] == '-'))
                break;
            i = (size_t)(end - from);
            end = NULL;
        }
    } else {
        end = memchr(from, '>', left);
    }
    p->at = end ? (size_t)(end - p->s) + 1 : p->len;
}

int aoei_html_text_read(aoei_html_text *h, aoe_text html, aoe_error *err) {
    parser p = {.h = h, .s = html.data, .len = html.len, .line = 1, .err = err};
    while (p.at < p.len && !p.rc && !h->text.failed && !h->title.failed) {
        const char *s = p.s + p.at;
        const size_t left = p.len - p.at;
        if (*s == '<' && left > 1 && (is_letter(s[1]) || (s[1] == '/' && left > 2 && is_letter(s[2]))))
            read_tag(&p);
        else if (*s == '<' && left > 1 && (s[1] == '!' || s[1] == '?' || s[1] == '/'))
            skip_declaration(&p);
        else
            p.at += put_text(&p, s, left);
    }
    if (p.rc)
        return p.rc;
    return h->text.failed || h->title.failed ? aoei_fail_nomem(err, html.len) : 0;
}

void aoei_html_text_free(aoei_html_text *h) {
    aoei_buffer_free(&h->text);
    aoei_buffer_free(&h->title);
    aoei_free(h->line);
    *h = (aoei_html_text){0};
}
