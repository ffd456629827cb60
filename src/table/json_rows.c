/* SPDX-License-Identifier: MIT
 * Reads rows that are JSON objects. In an array, the end of an element is found by counting brackets outside of
 * strings, and the element is then parsed. Syntax errors between the elements of an array are errors of the file,
 * because the next element cannot be found; an element that is balanced but invalid is a bad row.
 */
#include "table/json_rows.h"

#include "base/error.h"
#include "base/json.h"
#include "base/json_decode.h"
#include "table/csv.h"

#define ARRAY_REMEDY "rename it to .json, or set options.input_format to json"

enum state { BEFORE_ARRAY, BEFORE_FIRST, BEFORE_ELEMENT, AFTER_ELEMENT, AFTER_ARRAY };

static int is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Returns the offset of the first byte of s[len] that is not white space, or len. */
static size_t skip_space(const char *s, size_t len) {
    size_t i = 0;
    while (i < len && is_space(s[i]))
        i++;
    return i;
}

/* Parses text[len] into r->object. Returns 1, AOE_ENOMEM, or AOEI_BAD_ROW after setting *error. If the value is not an
 * object, AOEI_BAD_ROW is returned and error->text is empty. */
static int parse(aoei_json_rows *r, const char *text, size_t len, json_error_t *error, aoe_error *err) {
    int no_memory;
    json_decref(r->object);
    *error = (json_error_t){0};
    r->object =
        aoei_json_decode(text, len, JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES,
                         error, &no_memory);
    if (no_memory)
        return aoei_fail_nomem(err, len);
    return json_is_object(r->object) ? 1 : AOEI_BAD_ROW;
}

/* Returns 1 if a line begins with `open` and the brackets in it are not all closed, so that the value continues on the
 * next line. */
static int is_incomplete(const aoei_line *line, char open) {
    size_t i = skip_space(line->data, line->len), depth = 0;
    int quoted = 0;
    if (i == line->len || line->data[i] != open)
        return 0;
    for (; i < line->len; i++) {
        const char c = line->data[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '['))
            depth++;
        else if (!quoted && (c == '}' || c == ']') && --depth == 0)
            return 0;
    }
    return 1;
}

/* ------------------------------------------------------------- JSON lines */

/* Returns the next row of JSON lines. Blank lines are skipped. */
static int next_line(aoei_json_rows *r, aoei_lines *lines, aoe_error *err) {
    aoei_line line;
    json_error_t error;
    int rc;
    do {
        rc = aoei_lines_next(lines, &line, err);
        if (rc <= 0)
            return rc;
    } while (skip_space(line.data, line.len) == line.len);
    r->line = line.number;
    r->bytes = (aoe_text){line.data, line.len + line.eol};
    rc = parse(r, line.data, line.len, &error, err);
    if (rc != AOEI_BAD_ROW)
        return rc;
    if (r->object)
        aoei_fail(err, AOE_EFORMAT, "%s:%zu: the line is not a JSON object; " AOEI_ROW_REMEDY, aoei_lines_name(lines),
                  r->line);
    else if (is_incomplete(&line, '{'))
        aoei_fail(err, AOE_EFORMAT,
                  "%s:%zu: the line ends before the JSON object does; write each object on one line, for example with "
                  "jq -c, or set options.skip_bad_rows",
                  aoei_lines_name(lines), r->line);
    else
        aoei_fail(err, AOE_EFORMAT, "%s:%zu:%d: %s; " AOEI_ROW_REMEDY, aoei_lines_name(lines), r->line, error.position,
                  error.text);
    return AOEI_BAD_ROW;
}

/* ------------------------------------------------------------------ array */

static int fail_array(const aoei_json_rows *r, const aoei_lines *lines, const char *what, aoe_error *err) {
    return aoei_fail(err, AOE_EFORMAT, "%s:%zu:%zu: %s; correct the JSON array", aoei_lines_name(lines),
                     r->current.number, r->at + 1, what);
}

/* Moves to the next byte that is not white space. Returns 1, 0 at the end of the file, or an error. */
static int next_byte(aoei_json_rows *r, aoei_lines *lines, char *c, aoe_error *err) {
    for (;;) {
        r->at += skip_space(r->current.data + r->at, r->current.len - r->at);
        if (r->at < r->current.len) {
            *c = r->current.data[r->at];
            return 1;
        }
        const aoei_line last = r->current;
        const int rc = aoei_lines_next(lines, &r->current, err);
        if (rc <= 0) { /* the position of the end of the file, for messages */
            r->current = (aoei_line){.data = "", .number = last.number};
            r->at = 0;
            return rc;
        }
        r->at = 0;
    }
}

/* Copies the element that begins at the current position to r->buffer, as one line. An element ends where all its
 * brackets are closed, or before a comma or a closing bracket. Returns 1 or an error. */
static int copy_element(aoei_json_rows *r, aoei_lines *lines, aoe_error *err) {
    size_t depth = 0;
    int quoted = 0, escaped = 0;
    aoei_buffer_clear(&r->buffer);
    for (;;) {
        const char *s = r->current.data;
        size_t i = r->at;
        int complete = 0;
        for (; i < r->current.len && !complete; i++) {
            const char c = s[i];
            const int opens = !quoted && (c == '{' || c == '['), closes = !quoted && (c == '}' || c == ']');
            if (!quoted && !depth && (c == ',' || closes))
                break;
            quoted ^= c == '"' && !escaped;
            escaped = quoted && c == '\\' && !escaped;
            depth += (size_t)opens;
            depth -= (size_t)closes;
            complete = closes && !depth;
        }
        aoei_buffer_append(&r->buffer, s + r->at, i - r->at);
        r->at = i;
        if (complete || i < r->current.len) {
            aoei_buffer_putc(&r->buffer, '\n');
            return r->buffer.failed ? aoei_fail_nomem(err, r->buffer.len) : 1;
        }
        aoei_buffer_putc(&r->buffer, quoted ? '\n' : ' '); /* a line end inside a string is invalid, and is reported as
                                                              such */
        const size_t number = r->current.number;
        const int rc = aoei_lines_next(lines, &r->current, err);
        r->at = 0;
        if (rc < 0)
            return rc;
        if (rc == 0) {
            r->current = (aoei_line){.data = "", .number = number};
            return aoei_fail(err, AOE_EFORMAT,
                             "%s:%zu: the file ends inside this element of the JSON array; correct the array",
                             aoei_lines_name(lines), r->line);
        }
    }
}

/* Reads the bytes before the next element. Returns 1 if an element follows, 0 after the end of the array, or an
 * error. */
static int find_element(aoei_json_rows *r, aoei_lines *lines, aoe_error *err) {
    for (;;) {
        char c = 0;
        const int rc = next_byte(r, lines, &c, err);
        if (rc < 0)
            return rc;
        if (r->state == AFTER_ARRAY)
            return rc ? fail_array(r, lines, "text after the end of the JSON array", err) : 0;
        if (!rc)
            return fail_array(r, lines, "the file ends before the JSON array does", err);
        if (r->state == BEFORE_ARRAY) {
            r->state = BEFORE_FIRST;
        } else if (c == ']' && (r->state == BEFORE_FIRST || r->state == AFTER_ELEMENT)) {
            r->state = AFTER_ARRAY;
        } else if (r->state == AFTER_ELEMENT) {
            if (c != ',')
                return fail_array(r, lines, "expected a comma or ] after an element of the JSON array", err);
            r->state = BEFORE_ELEMENT;
        } else if (c == ',' || c == ']') {
            return fail_array(r, lines, "expected an element of the JSON array", err);
        } else {
            return 1;
        }
        r->at++;
    }
}

/* Returns the next element of an array. */
static int next_element(aoei_json_rows *r, aoei_lines *lines, aoe_error *err) {
    json_error_t error;
    int rc = find_element(r, lines, err);
    if (rc <= 0)
        return rc;
    r->line = r->current.number;
    rc = copy_element(r, lines, err);
    if (rc <= 0)
        return rc;
    r->state = AFTER_ELEMENT;
    r->bytes = (aoe_text){r->buffer.data, r->buffer.len};
    rc = parse(r, r->buffer.data, r->buffer.len - 1, &error, err);
    if (rc != AOEI_BAD_ROW)
        return rc;
    if (r->object)
        aoei_fail(err, AOE_EFORMAT, "%s:%zu: an element of the array is not a JSON object; " AOEI_ROW_REMEDY,
                  aoei_lines_name(lines), r->line);
    else
        aoei_fail(err, AOE_EFORMAT, "%s:%zu: the element that begins here is invalid: %s; " AOEI_ROW_REMEDY,
                  aoei_lines_name(lines), r->line, error.text);
    return AOEI_BAD_ROW;
}

/* -------------------------------------------------------------- functions */

int aoei_json_rows_begin(aoei_json_rows *r, aoei_lines *lines, aoe_table_format format, aoe_error *err) {
    aoei_line line;
    json_error_t error;
    size_t at;
    for (;;) {
        const int rc = aoei_lines_peek(lines, &line, err);
        if (rc <= 0)
            return rc;
        at = skip_space(line.data, line.len);
        if (at < line.len)
            break;
        aoei_lines_next(lines, &line, err);
    }
    r->current = (aoei_line){.data = ""};
    r->array = line.data[at] == '[';
    if (!r->array || format == AOE_TABLE_JSON)
        return 1;
    /* a single line with an array of other values is a bad row, as any line that is not an object */
    const int rc = parse(r, line.data, line.len, &error, err);
    r->array = 0;
    if (rc == AOE_ENOMEM)
        return rc;
    if (r->object ? json_is_object(json_array_get(r->object, 0)) : is_incomplete(&line, '['))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the file contains a JSON array, not one JSON object per line; " ARRAY_REMEDY,
                         aoei_lines_name(lines));
    return 1;
}

int aoei_json_rows_next(aoei_json_rows *r, aoei_lines *lines, aoe_error *err) {
    return r->array ? next_element(r, lines, err) : next_line(r, lines, err);
}

void aoei_json_rows_free(aoei_json_rows *r) {
    json_decref(r->object);
    aoei_buffer_free(&r->buffer);
    *r = (aoei_json_rows){0};
}
