/* SPDX-License-Identifier: MIT
 * Reads simple lines of front matter.
 */
#include "document/front_matter.h"

#include <string.h>

#include "base/error.h"

enum { LONGEST = 16384 /* maximum size of front matter in bytes; a longer one is ignored */ };

static aoe_text trim(aoe_text t) {
    while (t.len && strchr(" \t\r", t.data[t.len - 1]))
        t.len--;
    while (t.len && strchr(" \t", *t.data))
        t = (aoe_text){t.data + 1, t.len - 1};
    return t;
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
    *rest = (aoe_text){rest->data + len + (lf != NULL), rest->len - len - (lf != NULL)};
    return 1;
}

static int is(aoe_text t, const char *s) {
    return t.len == strlen(s) && memcmp(t.data, s, t.len) == 0;
}

/* Returns the text between the marks, or an empty text. Sets *separator to the character between key and value. */
static aoe_text find_front_matter(aoe_text text, char *separator) {
    aoe_text rest = {text.data, text.len < LONGEST ? text.len : LONGEST}, line;
    if (!take_line(&rest, &line) || !(is(line, "---") || is(line, "+++")))
        return (aoe_text){"", 0};
    const int toml = *line.data == '+';
    *separator = toml ? '=' : ':';
    for (const char *begin = rest.data; take_line(&rest, &line);)
        if (toml ? is(line, "+++") : is(line, "---") || is(line, "..."))
            return (aoe_text){begin, (size_t)(line.data - begin)};
    return (aoe_text){"", 0};
}

/* Removes quotes. Returns an empty text if the value is not a simple scalar. */
static aoe_text scalar(aoe_text value) {
    const char quote = value.len ? *value.data : 0;
    if (quote == '"' || quote == '\'') {
        const char *end = memchr(value.data + 1, quote, value.len - 1);
        const aoe_text inside = {value.data + 1, end ? (size_t)(end - value.data - 1) : 0};
        const aoe_text after = end ? trim((aoe_text){end + 1, (size_t)(value.data + value.len - end - 1)}) : value;
        const int has_escapes = quote == '"' && inside.len && memchr(inside.data, '\\', inside.len);
        return (after.len && *after.data != '#') || has_escapes ? (aoe_text){"", 0} : inside;
    }
    for (size_t i = 1; i + 1 < value.len; i++)
        if (value.data[i] == '#' && value.data[i - 1] == ' ')
            value = trim((aoe_text){value.data, i});
    if (value.len >= 2 && quote == '[' && value.data[value.len - 1] == ']')
        return trim((aoe_text){value.data + 1, value.len - 2});
    return quote && strchr("|>{}[]&*!%@`#-?", quote) && !(quote == '-' && value.len > 1 && value.data[1] != ' ')
               ? (aoe_text){"", 0}
               : value;
}

static int is_key(aoe_text key) {
    for (size_t i = 0; i < key.len; i++) {
        const char c = key.data[i];
        const int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '-')))
            return 0;
    }
    return key.len > 0;
}

static void add_field(aoei_front_matter *m, aoe_text key, aoe_text value) {
    for (size_t i = 0; i < m->n; i++)
        if (is(key, m->field[i].key))
            return;
    m->field[m->n++] = (aoe_index_field){m->keys.data + m->keys.len, value};
    aoei_buffer_append(&m->keys, key.data, key.len);
    aoei_buffer_putc(&m->keys, 0);
}

int aoei_front_matter_read(aoei_front_matter *m, aoe_text text, aoe_error *err) {
    char separator = ':';
    aoe_text rest = find_front_matter(text, &separator), line;
    m->n = 0;
    aoei_buffer_clear(&m->keys);
    if (!rest.len)
        return 0;
    /* the keys must not move: each key has a separator in the text, whose byte its NUL can use */
    if (aoei_buffer_reserve(&m->keys, rest.len))
        return aoei_fail_nomem(err, rest.len);
    while (m->n < AOEI_FRONT_MATTER_FIELDS && take_line(&rest, &line)) {
        const char *at = line.len ? memchr(line.data, separator, line.len) : NULL;
        if (!at || line.data[0] == ' ' || line.data[0] == '\t')
            continue;
        const aoe_text key = trim((aoe_text){line.data, (size_t)(at - line.data)});
        const aoe_text value = scalar(trim((aoe_text){at + 1, (size_t)(line.data + line.len - at - 1)}));
        if (is_key(key) && value.len)
            add_field(m, key, value);
    }
    return 0;
}

void aoei_front_matter_free(aoei_front_matter *m) {
    aoei_buffer_free(&m->keys);
    m->n = 0;
}
