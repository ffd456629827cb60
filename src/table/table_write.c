/* SPDX-License-Identifier: MIT
 * Writes the rows of a table. Rows are appended to a buffer, which is compressed and written when it is full. If the
 * format of the output cannot represent a value, this is detected when the value is appended.
 */
#include "table/table_write.h"

#include <string.h>
#include <strings.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/error.h"
#include "table/formats.h"
#include "table/labels.h"

enum { FLUSH_BYTES = 1 << 16 /* the buffer is written when it contains at least this number of bytes */ };

/* ---- cells */

/* The functions below that return a string return NULL on success. Otherwise, the string describes the content that the
 * format cannot represent, for example "a line end". */

/* Appends a text without quotes or escapes, or returns a description of the character that prevents this. tabs: 1 if
 * the text may contain TABs. */
static const char *put_plain(aoei_buffer *b, aoe_text t, int tabs) {
    for (size_t i = 0; i < t.len; i++)
        if (t.data[i] == '\n' || t.data[i] == '\r' || (t.data[i] == '\t' && !tabs))
            return tabs ? "a line end" : "a TAB or a line end";
    aoei_buffer_append(b, t.data, t.len);
    return NULL;
}

/* Returns 1 if t contains one of the characters of `set`. */
static int contains(aoe_text t, const char *set) {
    for (size_t i = 0; i < t.len; i++)
        if (t.data[i] && strchr(set, t.data[i]))
            return 1;
    return 0;
}

/* Appends a text as a CSV field. A text that contains a comma, a quote or a line end is quoted, and every text if
 * `always` is
 * 1. */
static void put_csv(aoei_buffer *b, aoe_text t, int always) {
    if (!always && !contains(t, ",\"\r\n")) {
        aoei_buffer_append(b, t.data, t.len);
        return;
    }
    aoei_buffer_putc(b, '"');
    for (size_t from = 0, to; from < t.len; from = to) {
        const char *quote = memchr(t.data + from, '"', t.len - from);
        to = quote ? (size_t)(quote - t.data) + 1 : t.len;
        aoei_buffer_append(b, t.data + from, to - from);
        if (quote)
            aoei_buffer_putc(b, '"');
    }
    aoei_buffer_putc(b, '"');
}

/* Appends a JSON string. */
static void put_string(aoei_buffer *b, aoe_text t) {
    static const char escaped[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
    aoei_buffer_putc(b, '"');
    for (size_t from = 0, i = 0; i <= t.len; i++) {
        if (i < t.len && (unsigned char)t.data[i] >= 0x20 && t.data[i] != '"' && t.data[i] != '\\')
            continue;
        aoei_buffer_append(b, t.data + from, i - from);
        from = i + 1;
        if (i == t.len)
            break;
        const char *known = t.data[i] ? strchr(escaped, t.data[i]) : NULL;
        if (known)
            aoei_buffer_printf(b, "\\%c", letter[known - escaped]);
        else
            aoei_buffer_printf(b, "\\u%04x", (unsigned)t.data[i]);
    }
    aoei_buffer_putc(b, '"');
}

static void put_number(aoei_buffer *b, double x) {
    char text[AOEI_NUMBER_TEXT];
    aoei_buffer_append(b, text, aoei_number_text(text, x));
}

/* Appends a JSON value. The function is recursive; the JSON parser limits the depth of values and thereby the depth of
 * the recursion. */
static void put_json(aoei_buffer *b, const json_t *v) {
    const char *between = "", *key;
    json_t *member;
    switch (json_typeof(v)) {
    case JSON_STRING:
        put_string(b, (aoe_text){json_string_value(v), json_string_length(v)});
        break;
    case JSON_INTEGER:
    case JSON_REAL:
        put_number(b, json_number_value(v));
        break;
    case JSON_ARRAY:
        aoei_buffer_putc(b, '[');
        for (size_t i = 0; i < json_array_size(v); i++) {
            aoei_buffer_append(b, ",", i > 0);
            put_json(b, json_array_get(v, i));
        }
        aoei_buffer_putc(b, ']');
        break;
    case JSON_OBJECT:
        aoei_buffer_putc(b, '{');
        json_object_foreach((json_t *)(uintptr_t)v, key, member) {
            aoei_buffer_append(b, between, strlen(between));
            put_string(b, aoe_text_of(key));
            aoei_buffer_putc(b, ':');
            put_json(b, member);
            between = ",";
        }
        aoei_buffer_putc(b, '}');
        break;
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL:
        aoei_buffer_append(b, json_is_null(v) ? "null" : json_is_true(v) ? "true" : "false", json_is_false(v) ? 5 : 4);
        break;
    }
}

static const char *put_text(const aoei_table_writer *w, aoei_buffer *b, aoe_text t) {
    if (w->format == AOE_TABLE_CSV) {
        put_csv(b, t, 0);
        return NULL;
    }
    return put_plain(b, t, w->format == AOE_TABLE_TXT);
}

/* Appends a cell in the format of the output. */
static const char *put_cell(const aoei_table_writer *w, aoei_buffer *b, const aoei_cell *c) {
    if (w->format != AOE_TABLE_JSONL) {
        if (c->list || json_is_array(c->json) || json_is_object(c->json))
            return "a list or an object";
        if (json_is_null(c->json))
            return NULL;
        if (json_is_string(c->json))
            return put_text(w, b, (aoe_text){json_string_value(c->json), json_string_length(c->json)});
        if (!c->json)
            return put_text(w, b, c->text);
        put_json(b, c->json); /* numbers and booleans are written without quotes */
        return NULL;
    }
    if (c->json) {
        put_json(b, c->json);
    } else if (c->list) {
        aoei_buffer_putc(b, '[');
        for (size_t i = 0; i < c->n; i++) {
            aoei_buffer_append(b, ",", i > 0);
            put_string(b, c->list[i]);
        }
        aoei_buffer_putc(b, ']');
    } else if (c->is_number) {
        aoei_buffer_append(b, c->text.data, c->text.len);
    } else {
        put_string(b, c->text);
    }
    return NULL;
}

/* ---- columns */

static int equal(aoe_text a, aoe_text b) {
    return a.len == b.len && (!a.len || !memcmp(a.data, b.data, a.len));
}

/* Fails because the option `option` contains the name of a column that does not exist. */
static int fail_column(const char *option, aoe_text name, aoe_error *err) {
    char excerpt[AOEI_EXCERPT];
    return aoei_fail(err, AOE_EARG, "%s: no column '%s' in the output; name an existing column", option,
                     aoei_excerpt(excerpt, name));
}

/* Returns the index of `wanted` in name[n], or n if name[n] does not contain it. */
static size_t find(const aoe_text *name, size_t n, aoe_text wanted) {
    size_t i = 0;
    while (i < n && !equal(name[i], wanted))
        i++;
    return i;
}

/* Sets w->order to the indices of the cells to write. keep: options.keep, a list of column names; NULL to write all
 * cells. */
static int choose_columns(aoei_table_writer *w, const aoe_text *name, const char *keep, aoe_error *err) {
    if (!w->n)
        return aoei_fail(err, AOE_EFORMAT,
                         "the table has no columns; in .jsonl, the keys of the first row are the columns");
    for (size_t i = 0; !keep && i < w->n; i++)
        w->order[w->columns++] = i;
    for (const char *s = keep; s && *s;) {
        const aoe_text wanted = {s, strcspn(s, ",")};
        const size_t cell = find(name, w->n, wanted);
        if (cell == w->n)
            return fail_column("options.keep", wanted, err);
        for (size_t i = 0; i < w->columns; i++)
            if (w->order[i] == cell)
                return aoei_fail(err, AOE_EARG, "options.keep: '%.*s' is given twice; remove one", (int)wanted.len, s);
        w->order[w->columns++] = cell;
        s += wanted.len;
        s += *s == ',';
    }
    return w->columns ? 0
                      : aoei_fail(err, AOE_EARG, "options.keep contains no column name; write for example text1,text2");
}

/* Renames columns in w->name. rename: options.rename, which has the form "OLD=NEW,...", or NULL. */
static int rename_columns(aoei_table_writer *w, const aoe_text *name, const char *rename, aoe_error *err) {
    char excerpt[AOEI_EXCERPT];
    for (const char *s = rename; s && *s;) {
        const size_t len = strcspn(s, ",");
        const char *equals = memchr(s, '=', len);
        if (!equals || equals == s || equals + 1 == s + len)
            return aoei_fail(err, AOE_EARG, "options.rename: '%s' is not OLD=NEW; write for example sentence1=text1",
                             aoei_excerpt(excerpt, (aoe_text){s, len}));
        const aoe_text old = {s, (size_t)(equals - s)};
        const size_t cell = find(name, w->n, old);
        if (cell == w->n)
            return fail_column("options.rename", old, err);
        w->name[cell] = (aoe_text){equals + 1, (size_t)(s + len - (equals + 1))};
        s += len;
        s += *s == ',';
    }
    return 0;
}

/* Checks the names of the columns to write. In a .jsonl file, names must be unique and must not contain NUL. In every
 * format, renaming must not make two names equal. renamed: 1 if options.rename is set. */
static int check_names(const aoei_table_writer *w, const char *path, int renamed, aoe_error *err) {
    char excerpt[AOEI_EXCERPT];
    if (w->format == AOE_TABLE_TXT && w->columns != 1)
        return aoei_fail(err, AOE_EARG,
                         "%s: a .txt file has one column, but there are %zu; choose one with options.keep", path,
                         w->columns);
    for (size_t i = 0; i < w->columns; i++) {
        const aoe_text name = w->name[w->order[i]];
        int twice = 0;
        for (size_t k = 0; k < i; k++)
            twice |= equal(w->name[w->order[k]], name);
        if (twice && w->format == AOE_TABLE_JSONL)
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: two columns are named '%s', but keys of .jsonl must be unique; rename one", path,
                             aoei_excerpt(excerpt, name));
        if (twice && renamed)
            return aoei_fail(err, AOE_EARG,
                             "options.rename: two columns would be named '%s'; give them different names",
                             aoei_excerpt(excerpt, name));
        if (w->format == AOE_TABLE_JSONL && memchr(name.data, 0, name.len))
            return aoei_fail(
                err, AOE_EFORMAT,
                "%s: the name of a column contains a NUL character, which is not allowed in .jsonl keys; rename it",
                path);
    }
    return 0;
}

/* Compresses and writes the buffered rows. Programs drop a byte order mark at the beginning of a file. If the first
 * text begins with this character, a second one is therefore written before it. */
static int flush(aoei_table_writer *w, aoe_error *err) {
    static const char mark[] = "\xEF\xBB\xBF";
    const size_t len = sizeof mark - 1;
    int rc = 0;
    if (w->row.failed)
        return aoei_fail_nomem(err, w->row.len);
    if (!w->started && w->row.len >= len && memcmp(w->row.data, mark, len) == 0)
        rc = aoei_compress_write(&w->compressor, mark, len, err);
    if (!rc && w->row.len)
        rc = aoei_compress_write(&w->compressor, w->row.data, w->row.len, err);
    w->started |= w->row.len > 0;
    aoei_buffer_clear(&w->row);
    return rc;
}

/* Returns 1 if the name of the first column must be quoted in a .csv file. Without quotes, aoei_table_open would read
 * it as several names, as a line that sets the delimiter, or as UTF-16. */
static int must_be_quoted(aoe_text name) {
    return contains(name, AOEI_TABLE_DELIMITERS) || memchr(name.data, 0, name.len) != NULL ||
           (name.len >= 4 && strncasecmp(name.data, "sep=", 4) == 0) ||
           aoei_format_check_bytes(name.data, name.len, "", NULL);
}

/* Fails if aoei_table_open would not read the first line, which is w->row, as it is meant. name: name of the file in
 * messages. */
static int check_first_line(const aoei_table_writer *w, const char *name, aoe_error *err) {
    if (w->row.failed) /* reported when the buffer is flushed */
        return 0;
    char excerpt[AOEI_EXCERPT];
    const aoe_text line = {w->row.data, w->row.len - 1};
    if (memchr(line.data, 0, line.len < 4 ? line.len : 4))
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the first line contains NUL characters, so that the output would be read as UTF-16; use .jsonl or "
            ".csv for the output",
            name);
    if (aoei_format_check_bytes(line.data, line.len, name, NULL))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the first line begins like a binary file; use .jsonl for the output, or remove the line",
                         name);
    if (w->format != AOE_TABLE_TSV)
        return 0;
    if (w->columns == 1 ? contains(line, AOEI_TABLE_DELIMITERS)
                        : line.len == 5 && strncasecmp(line.data, "sep=", 4) == 0)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the header '%s' would be read as other columns; use .csv or .jsonl for the output, or rename "
            "the column",
            name, aoei_excerpt(excerpt, line));
    return 0;
}

/* Appends the header line with the column names. Files in .jsonl and .txt format have no header line. */
static int write_header(aoei_table_writer *w, const char *path, aoe_error *err) {
    char excerpt[AOEI_EXCERPT];
    if (w->format == AOE_TABLE_JSONL || w->format == AOE_TABLE_TXT)
        return 0;
    for (size_t i = 0; i < w->columns; i++) {
        const aoe_text name = w->name[w->order[i]];
        aoei_buffer_append(&w->row, w->format == AOE_TABLE_CSV ? "," : "\t", i > 0);
        const char *problem = NULL;
        if (w->format == AOE_TABLE_CSV)
            put_csv(&w->row, name, must_be_quoted(name));
        else
            problem = put_plain(&w->row, name, 0);
        if (problem)
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: the name of column '%s' contains %s, which .tsv cannot represent; rename it", path,
                             aoei_excerpt(excerpt, name), problem);
    }
    aoei_buffer_putc(&w->row, '\n');
    return check_first_line(w, path, err);
}

int aoei_table_writer_open(aoei_table_writer *w, const char *path, const aoe_text *name, size_t n, const char *keep,
                           const char *rename, aoe_write_fn write, void *user, aoe_error *err) {
    *w = (aoei_table_writer){.n = n};
    int rc = aoei_table_format_of(&w->format, path, err);
    if (rc)
        return rc;
    w->name = aoei_malloc_array(n, sizeof *w->name);
    w->order = aoei_malloc_array(n, sizeof *w->order);
    if (!w->name || !w->order)
        return aoei_fail_nomem(err, n * sizeof *w->name);
    memcpy(w->name, name, n * sizeof *name);
    rc = choose_columns(w, name, keep, err);
    if (!rc)
        rc = rename_columns(w, name, rename, err);
    if (!rc)
        rc = check_names(w, path, rename != NULL, err);
    if (!rc)
        rc = aoei_compress_open(&w->compressor, aoei_codec_of(path), write, user, 0, err);
    return rc ? rc : write_header(w, path, err);
}

int aoei_table_writer_row(aoei_table_writer *w, const aoei_cell *cell, const char *file, size_t line, aoe_error *err) {
    static const char *const separators[] = {
        [AOE_TABLE_TSV] = "\t", [AOE_TABLE_CSV] = ",", [AOE_TABLE_JSONL] = ",", [AOE_TABLE_TXT] = ""};
    const int json = w->format == AOE_TABLE_JSONL, first = !w->started && !w->row.len;
    aoei_buffer_append(&w->row, "{", json ? 1 : 0);
    for (size_t i = 0; i < w->columns; i++) {
        const aoe_text name = w->name[w->order[i]];
        aoei_buffer_append(&w->row, separators[w->format], i > 0);
        if (json) {
            put_string(&w->row, name);
            aoei_buffer_putc(&w->row, ':');
        }
        const char *problem = put_cell(w, &w->row, &cell[w->order[i]]);
        if (problem) {
            char excerpt[AOEI_EXCERPT];
            return aoei_fail(err, AOE_EFORMAT,
                             "%s:%zu: column '%s' contains %s, which %s cannot represent; use %s for the output", file,
                             line, aoei_excerpt(excerpt, name), problem,
                             w->format == AOE_TABLE_TSV   ? ".tsv"
                             : w->format == AOE_TABLE_CSV ? ".csv"
                                                          : ".txt",
                             strstr(problem, "list") ? ".jsonl" : ".jsonl or .csv");
        }
    }
    aoei_buffer_append(&w->row, "}", json ? 1 : 0);
    aoei_buffer_putc(&w->row, '\n');
    if (first && check_first_line(w, file, err))
        return AOE_EFORMAT;
    return w->row.failed || w->row.len >= FLUSH_BYTES ? flush(w, err) : 0;
}

int aoei_table_writer_end(aoei_table_writer *w, aoe_error *err) {
    const int rc = flush(w, err);
    return rc ? rc : aoei_compress_end(&w->compressor, err);
}

void aoei_table_writer_free(aoei_table_writer *w) {
    aoei_compress_free(&w->compressor);
    aoei_buffer_free(&w->row);
    aoei_free(w->name);
    aoei_free(w->order);
    *w = (aoei_table_writer){0};
}
