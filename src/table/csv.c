/* SPDX-License-Identifier: MIT
 * Parses CSV records from lines. Each line is split at its delimiters and quotes, and the field contents are appended
 * to c->text. If a line ends inside a quoted field, the record continues on the next line. Invariant: between calls of
 * aoei_csv_next, `text` and `n` describe the record that was returned last.
 */
#include "table/csv.h"

#include "base/alloc.h"
#include "base/error.h"

/* Ends the current field and stores its end offset. Returns 0 or AOE_ENOMEM. */
static int end_field(aoei_csv *c) {
    if (aoei_grow((void **)&c->end, &c->capacity, c->n, sizeof *c->end))
        return AOE_ENOMEM;
    c->end[c->n++] = c->text.len;
    return 0;
}

/* Appends to c->text the bytes of s[from, len) that precede the next special byte. In a quoted field, the special byte
 * is the quote; in other fields, it is the quote or the delimiter. Returns the position of the special byte, or len. */
static size_t copy_until(aoei_csv *c, const char *s, size_t from, size_t len, int quoted) {
    size_t to = from;
    while (to < len && s[to] != '"' && (quoted || s[to] != c->delimiter))
        to++;
    aoei_buffer_append(&c->text, s + from, to - from);
    return to;
}

static int fail_stray_quote(const aoei_lines *lines, const aoei_line *line, size_t at, const char *what,
                            aoe_error *err) {
    aoei_fail(err, AOE_EFORMAT,
              "%s:%zu:%zu: %s; enclose the whole field in quotes and double the quotes in it, set options.quoting to "
              "none, or set options.skip_bad_rows",
              aoei_lines_name(lines), line->number, at + 1, what);
    return AOEI_BAD_ROW;
}

/* Copies the contents of a quoted field from position i of the line. Returns the position after the closing quote, or
 * the end of the line if the field is not closed on this line. */
static size_t copy_quoted(aoei_csv *c, const aoei_line *line, size_t i) {
    for (;;) {
        i = copy_until(c, line->data, i, line->len, 1);
        if (i == line->len) { /* the field continues on the next line */
            aoei_buffer_append(&c->text, line->data + i, line->eol);
            return i;
        }
        i++;
        if (i == line->len || line->data[i] != '"') {
            c->quoted = 0;
            return i;
        }
        aoei_buffer_putc(&c->text, '"');
        i++;
    }
}

/* Parses one line of a record. Returns 0, AOEI_BAD_ROW or an error. If c->quoted is 1 afterwards, the record continues
 * on the next line. */
static int split_line(aoei_csv *c, const aoei_lines *lines, const aoei_line *line, aoe_error *err) {
    for (size_t i = 0;; i++) {
        if (!c->quoted && i < line->len && line->data[i] == '"') {
            c->quoted = 1;
            c->open_line = line->number;
            c->open_column = ++i;
        }
        if (c->quoted) {
            i = copy_quoted(c, line, i);
            if (c->quoted)
                return 0;
            if (i < line->len && line->data[i] != c->delimiter)
                return fail_stray_quote(lines, line, i, "text after a closing quote", err);
        } else {
            i = copy_until(c, line->data, i, line->len, 0);
            if (i < line->len && line->data[i] == '"')
                return fail_stray_quote(lines, line, i, "a quote inside an unquoted field", err);
        }
        if (end_field(c))
            return aoei_fail_nomem(err, c->n * sizeof *c->end);
        if (i == line->len)
            return 0;
    }
}

/* Sets c->field from the end offsets in c->end. Call it only for a complete record, because appending to c->text may
 * move the text. Returns 1 (the result of aoei_csv_next if it reads a record) or AOE_ENOMEM. */
static int set_fields(aoei_csv *c, aoe_error *err) {
    if (c->n > c->field_capacity) {
        aoe_text *grown = aoei_realloc_array(c->field, c->capacity, sizeof *grown);
        if (!grown)
            return aoei_fail_nomem(err, c->capacity);
        c->field = grown;
        c->field_capacity = c->capacity;
    }
    size_t start = 0;
    for (size_t i = 0; i < c->n; i++) {
        c->field[i] = (aoe_text){c->text.data ? c->text.data + start : "", c->end[i] - start};
        start = c->end[i];
    }
    return 1;
}

int aoei_csv_next(aoei_csv *c, aoei_lines *lines, aoe_error *err) {
    aoei_line line;
    int rc = aoei_lines_next(lines, &line, err);
    if (rc <= 0)
        return rc;
    aoei_buffer_clear(&c->text);
    aoei_buffer_clear(&c->bytes);
    c->n = 0;
    c->quoted = 0;
    c->line = line.number;
    for (;;) {
        aoei_buffer_append(&c->bytes, line.data, line.len + line.eol);
        rc = split_line(c, lines, &line, err);
        if (rc)
            return rc;
        if (c->text.failed || c->bytes.failed)
            return aoei_fail_nomem(err, c->bytes.len);
        if (!c->quoted)
            return set_fields(c, err);
        rc = aoei_lines_next(lines, &line, err);
        if (rc < 0)
            return rc;
        if (rc == 0)
            return aoei_fail(err, AOE_EFORMAT,
                             "%s:%zu:%zu: the quoted field that begins here is never closed; add the closing quote",
                             aoei_lines_name(lines), c->open_line, c->open_column);
    }
}

void aoei_csv_free(aoei_csv *c) {
    aoei_buffer_free(&c->text);
    aoei_buffer_free(&c->bytes);
    aoei_free(c->end);
    aoei_free(c->field);
    *c = (aoei_csv){0};
}
