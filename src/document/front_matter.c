/* SPDX-License-Identifier: MIT
 * Reads front matter line by line. The path of keys to the current line is kept in one text: a key whose value is in
 * the following lines opens a level, and a line with a smaller indentation closes it. TOML has no indentation; there, a
 * line [table] replaces the path. Values are parts of the text; nothing is converted.
 */
#include "document/front_matter.h"

#include <string.h>

#include "base/error.h"

enum {
    LONGEST = 65536, /* maximum size of front matter in bytes; a longer one is lost */
    DEPTH = 16       /* maximum number of open levels */
};

typedef struct level {
    size_t indent; /* of the line that opened it */
    size_t len;    /* size of the path at this level */
    int is_list;   /* 1: contains items, so that keys may be repeated */
} level;

typedef struct parser {
    aoei_front_matter *m;
    aoe_text rest;      /* lines that were not read */
    const char *begin;  /* of the text */
    int toml;           /* 1: TOML; 0: YAML */
    size_t skip;        /* lines with at least this indentation belong to a lost entry; 0: none */
    level level[DEPTH]; /* [n] */
    size_t n;
    char path[AOEI_FRONT_MATTER_KEY + 1]; /* keys of the levels, joined by dots */
} parser;

/* What a value is. */
typedef enum form { FORM_TEXT, FORM_NONE /* empty or null */, FORM_LOST } form;

/* --------------------------------------------------------------------------- texts */

static aoe_text trim(aoe_text t) {
    while (t.len && strchr(" \t\r\n", t.data[t.len - 1]))
        t.len--;
    while (t.len && strchr(" \t\r\n", *t.data))
        t = (aoe_text){t.data + 1, t.len - 1};
    return t;
}

static aoe_text after(aoe_text t, size_t n) {
    return (aoe_text){t.data + n, t.len - n};
}

/* Removes the first line from *rest and sets *line to it, without its line end. Returns 0 if *rest is empty. */
static int take_line(aoe_text *rest, aoe_text *line) {
    if (!rest->len)
        return 0;
    const char *lf = memchr(rest->data, '\n', rest->len);
    const size_t len = lf ? (size_t)(lf - rest->data) : rest->len;
    *line = (aoe_text){rest->data, len};
    if (len && line->data[len - 1] == '\r')
        line->len--;
    *rest = after(*rest, len + (lf != NULL));
    return 1;
}

static int is(aoe_text t, const char *s) {
    return t.len == strlen(s) && memcmp(t.data, s, t.len) == 0;
}

static int is_comment(aoe_text t) {
    return t.len && *t.data == '#';
}

/* Returns the number of bytes of the quoted text at the beginning of t, with its quotes; 0: it is not closed. */
static size_t quoted(aoe_text t) {
    const char *end = memchr(t.data + 1, *t.data, t.len - 1);
    return end ? (size_t)(end - t.data) + 1 : 0;
}

/* Sets *text to a scalar without its quotes and comment. */
static form scalar(aoe_text value, int toml, aoe_text *text) {
    value = trim(value);
    if (!value.len || is_comment(value))
        return FORM_NONE;
    const char first = *value.data;
    if (first == '"' || first == '\'') {
        const size_t n = quoted(value);
        const aoe_text end = trim(after(value, n));
        *text = (aoe_text){value.data + 1, n ? n - 2 : 0};
        if (!n || (end.len && !is_comment(end)) || memchr(text->data, '\n', text->len) ||
            (first == '"' && memchr(text->data, '\\', text->len)))
            return FORM_LOST;
        return text->len ? FORM_TEXT : FORM_NONE;
    }
    for (size_t i = 1; i < value.len; i++)
        if (value.data[i] == '#' && strchr(" \t", value.data[i - 1]))
            value.len = i;
    *text = value = trim(value);
    if (!toml && (is(value, "~") || is(value, "null")))
        return FORM_NONE;
    const int is_negative = first == '-' && value.len > 1 && value.data[1] != ' ';
    return (strchr("|>{}[]&*!%@`#-?,", first) && !is_negative) || memchr(value.data, '\n', value.len) ? FORM_LOST
                                                                                                      : FORM_TEXT;
}

/* -------------------------------------------------------------------------- fields */

static void lose(parser *p, const char *at) {
    aoei_front_matter *m = p->m;
    if (m->lost++)
        return;
    m->lost_line = 1;
    for (const char *c = p->begin; c < at; c++)
        m->lost_line += *c == '\n';
}

/* Adds a value of the current path. */
static int add_value(parser *p, aoe_text value, aoe_error *err) {
    aoei_front_matter *m = p->m;
    aoe_text text = value;
    const form what = scalar(value, p->toml, &text);
    if (what == FORM_NONE)
        return 0;
    if (what == FORM_LOST || m->n == AOEI_FRONT_MATTER_FIELDS) {
        lose(p, value.data);
        return 0;
    }
    /* the buffer can move; `key` is set at the end */
    m->field[m->n++] = (aoe_index_field){NULL, text};
    if (aoei_buffer_append(&m->keys, p->path, strlen(p->path) + 1))
        return aoei_fail_nomem(err, m->keys.len + strlen(p->path) + 1);
    return 0;
}

/* Returns 1 if there is a field with the current path. */
static int has_field(const parser *p) {
    const char *key = p->m->keys.data;
    for (size_t i = 0; i < p->m->n; i++, key += strlen(key) + 1)
        if (strcmp(key, p->path) == 0)
            return 1;
    return 0;
}

/* Returns the position of the comma or bracket after an element of a list in brackets that begins at i. Returns 0 if
 * the list is not closed, or the element is a list or a map or has a comment. */
static size_t element_end(aoe_text list, size_t i) {
    while (i < list.len && strchr(" \t\r\n", list.data[i]))
        i++;
    if (i < list.len && strchr("\"'", list.data[i])) {
        const size_t n = quoted(after(list, i));
        i = n ? i + n : list.len;
    }
    for (; i < list.len; i++) {
        if (strchr(",]", list.data[i]))
            return i;
        if (strchr("[{#", list.data[i]))
            return 0;
    }
    return 0;
}

/* Adds the values of a list in brackets, which can have several lines. `list` begins with its bracket and ends at the
 * end of the front matter. Sets *size to the number of bytes of the list, 0 if it is lost. */
static int add_list(parser *p, aoe_text list, size_t *size, aoe_error *err) {
    size_t n = 0;
    *size = 0;
    while (list.data[n] != ']')
        if (!(n = element_end(list, n + 1)))
            return 0;
    for (size_t i = 0, end; i < n; i = end) {
        end = element_end(list, i + 1);
        const int code = add_value(p, (aoe_text){list.data + i + 1, end - i - 1}, err);
        if (code)
            return code;
    }
    *size = n + 1;
    return 0;
}

/* --------------------------------------------------------------------------- lines */

/* Counts an entry as lost, and skips the lines that belong to it. indent: of its key or item. */
static int lose_entry(parser *p, const char *at, size_t indent) {
    lose(p, at);
    p->skip = indent + 1;
    return 0;
}

/* Reads a list in brackets. p->rest are the lines after its first one. */
static int read_list(parser *p, aoe_text value, size_t indent, aoe_error *err) {
    const aoe_text list = {value.data, (size_t)(p->rest.data + p->rest.len - value.data)};
    size_t size;
    const int code = add_list(p, list, &size, err);
    aoe_text rest = after(list, size), line = {"", 0};
    if (code)
        return code;
    if (!size)
        return lose_entry(p, value.data, indent);
    (void)take_line(&rest, &line);
    p->rest = rest;
    if (trim(line).len && !is_comment(trim(line)))
        lose(p, line.data);
    return 0;
}

/* Skips a text of several lines in TOML, which begins with three quotes. */
static void skip_quotes(parser *p, aoe_text value) {
    const char *end = p->rest.data + p->rest.len;
    for (const char *c = value.data + 3; end - c >= 3; c++)
        if (memcmp(c, value.data, 3) == 0) {
            p->rest = (aoe_text){c + 3, (size_t)(end - c - 3)};
            return;
        }
}

/* Reads a value that begins in a line; p->rest are the lines after it. indent: of its key or item. */
static int read_value(parser *p, aoe_text value, size_t indent, aoe_error *err) {
    const size_t lost = p->m->lost;
    if (*value.data == '[')
        return read_list(p, value, indent, err);
    const int code = add_value(p, value, err);
    if (p->m->lost > lost && p->toml && value.len >= 3 && strchr("\"'", *value.data) && value.data[1] == *value.data &&
        value.data[2] == *value.data)
        skip_quotes(p, value);
    if (p->m->lost > lost)
        p->skip = indent + 1;
    return code;
}

/* Splits a line, which is not empty, at the separator of key and value. Returns 0 if it has no valid key. */
static int split(const parser *p, aoe_text line, aoe_text *key, aoe_text *value) {
    const char separator = p->toml ? '=' : ':';
    size_t i = 0;
    if (strchr("\"'", *line.data)) {
        i = quoted(line);
        *key = (aoe_text){line.data + 1, i ? i - 2 : 0};
        while (i < line.len && line.data[i] == ' ')
            i++;
        if (i < line.len && line.data[i] != separator)
            return 0;
    } else {
        while (i < line.len &&
               (line.data[i] != separator || (!p->toml && i + 1 < line.len && !strchr(" \t", line.data[i + 1]))))
            i++;
        *key = trim((aoe_text){line.data, i});
        if (key->len && strchr("|>{}[]&*!%@`#?,", *key->data))
            return 0;
    }
    if (i == line.len || !key->len)
        return 0;
    for (size_t k = 0; k < key->len; k++)
        if ((unsigned char)key->data[k] < ' ' || strchr("\\`\x7f", key->data[k]))
            return 0;
    *value = trim(after(line, i + 1));
    return 1;
}

/* Closes the levels that were opened by lines with an indentation of at least `indent`. */
static void close_levels(parser *p, size_t indent) {
    while (!p->toml && p->n && p->level[p->n - 1].indent >= indent)
        p->n--;
    p->path[p->n ? p->level[p->n - 1].len : 0] = 0;
}

/* Appends a key to the path. Returns 0 if the path becomes too long. */
static int enter(parser *p, aoe_text key) {
    const size_t len = strlen(p->path), dot = len > 0;
    if (len + dot + key.len > AOEI_FRONT_MATTER_KEY)
        return 0;
    memcpy(p->path + len, ".", dot);
    memcpy(p->path + len + dot, key.data, key.len);
    p->path[len + dot + key.len] = 0;
    return 1;
}

static int open_level(parser *p, size_t indent, int is_list) {
    if (p->n == DEPTH)
        return 0;
    p->level[p->n++] = (level){indent, strlen(p->path), is_list};
    return 1;
}

static int read_key(parser *p, aoe_text line, size_t indent, aoe_error *err) {
    aoe_text key, value;
    close_levels(p, indent);
    const int in_list = p->n && p->level[p->n - 1].is_list;
    if (split(p, line, &key, &value) && enter(p, key) && (in_list || !has_field(p))) {
        if (value.len && !is_comment(value))
            return read_value(p, value, indent, err);
        if (!p->toml && open_level(p, indent, in_list))
            return 0;
    }
    return lose_entry(p, line.data, indent);
}

/* Reads a line "- value" or "- key: value" of a YAML list, which can have the indentation of its key. */
static int read_item(parser *p, aoe_text line, size_t indent, aoe_error *err) {
    aoe_text key, value;
    close_levels(p, indent + 1);
    if (!p->n)
        return lose_entry(p, line.data, indent);
    p->level[p->n - 1].is_list = 1;
    const aoe_text item = trim(after(line, 1));
    if (!item.len || is_comment(item))
        return 0;
    if (*item.data != '[' && split(p, item, &key, &value))
        return read_key(p, item, indent + (size_t)(item.data - line.data), err);
    return read_value(p, item, indent, err);
}

/* Reads a line [table] or [[table]] of TOML. The keys of a lost table are skipped. */
static void read_table(parser *p, aoe_text line) {
    const int is_list = line.len > 1 && line.data[1] == '[';
    const size_t start = 1 + (size_t)is_list;
    const char *end = memchr(line.data, ']', line.len);
    const size_t len = end ? (size_t)(end - line.data) : start;
    const aoe_text name = trim((aoe_text){line.data + start, len > start ? len - start : 0});
    p->n = 0;
    p->path[0] = 0;
    p->skip = 0;
    if (!name.len || memchr(name.data, '"', name.len) || !enter(p, name) || !open_level(p, 0, is_list))
        (void)lose_entry(p, line.data, 0);
}

static int read_line(parser *p, aoe_text line, aoe_error *err) {
    const aoe_text body = trim(line);
    const size_t indent = p->toml ? 0 : (size_t)(body.data - line.data);
    if (!body.len || is_comment(body))
        return 0;
    if (p->toml && *body.data == '[') {
        read_table(p, body);
        return 0;
    }
    if (p->skip && (p->toml || indent >= p->skip))
        return 0;
    p->skip = 0;
    if (!p->toml && *body.data == '-' && (body.len == 1 || body.data[1] == ' '))
        return read_item(p, body, indent, err);
    const int code = read_key(p, body, indent, err);
    if (p->toml)
        p->skip = 0; /* the next line is another entry */
    return code;
}

/* Sets p->rest to the text between the marks. Returns 0 if there is none. */
static int find(parser *p, aoe_text text) {
    aoe_text rest = {text.data, text.len < LONGEST ? text.len : LONGEST}, line;
    if (!take_line(&rest, &line) || !(is(line, "---") || is(line, "+++")))
        return 0;
    p->toml = *line.data == '+';
    for (const char *begin = rest.data; take_line(&rest, &line);)
        if (p->toml ? is(line, "+++") : is(line, "---") || is(line, "...")) {
            p->rest = (aoe_text){begin, (size_t)(line.data - begin)};
            return 1;
        }
    if (text.len > LONGEST)
        lose(p, text.data);
    return 0;
}

int aoei_front_matter_read(aoei_front_matter *m, aoe_text text, aoe_error *err) {
    parser p = {.m = m, .begin = text.data};
    aoe_text line;
    m->n = m->lost = m->lost_line = 0;
    aoei_buffer_clear(&m->keys);
    if (!find(&p, text))
        return 0;
    while (take_line(&p.rest, &line)) {
        const int code = read_line(&p, line, err);
        if (code) {
            m->n = 0;
            return code;
        }
    }
    const char *key = m->keys.data;
    for (size_t i = 0; i < m->n; i++, key += strlen(key) + 1)
        m->field[i].key = key;
    return 0;
}

void aoei_front_matter_free(aoei_front_matter *m) {
    aoei_buffer_free(&m->keys);
    m->n = 0;
}
