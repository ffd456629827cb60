/* SPDX-License-Identifier: MIT
 * Writes rows for COPY ... (FORMAT binary). Each field is written as its length in bytes, 32 bits, and its value; the
 * length is filled in after the value.
 */
#include "postgres/pg_rows.h"

#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/plain_number.h"
#include "postgres/pg_binary.h"

enum {
    ROW_VERSION = 1 /* changes if rows have other contents */,
    COLUMNS = 13,
    ROW_BYTES_MAX = 1000000000 /* PostgreSQL has a limit of 1 GB */
};

/* ------------------------------------------------------------------- hash */

static uint64_t hash_number(uint64_t h, size_t value) {
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)((uint64_t)value >> 8 * i);
    return aoei_hash(h, bytes, sizeof bytes);
}

static uint64_t hash_text(uint64_t h, const char *data, size_t len) {
    return aoei_hash(hash_number(h, len), data, len);
}

static uint64_t hash_string(uint64_t h, const char *s) {
    return s ? hash_text(h, s, strlen(s)) : aoei_hash(h, "", 1);
}

uint64_t aoei_pg_row_hash(const aoei_pg_passage *p) {
    const aoe_index_hit *hit = p->hit;
    uint64_t h = hash_number(AOEI_HASH_START, ROW_VERSION);
    h = hash_number(h, p->position);
    h = hash_number(h, hit->line);
    h = hash_number(h, hit->last_line);
    h = hash_number(h, hit->n_fields);
    h = hash_string(h, hit->name);
    h = hash_string(h, hit->heading);
    h = hash_text(h, hit->text.data, hit->text.len);
    for (size_t i = 0; i < hit->n_fields; i++) {
        h = hash_string(h, hit->field[i].key);
        h = hash_text(h, hit->field[i].value.data, hit->field[i].value.len);
    }
    return aoei_hash(h, p->vector, p->dims * sizeof *p->vector);
}

/* ------------------------------------------------------------------ fields */

/* Begins a field. Returns the offset of its value. */
static size_t begin(aoei_buffer *out) {
    aoei_pg_put32(out, 0);
    return out->len;
}

/* Ends the field whose value begins at `start`. */
static void end(aoei_buffer *out, size_t start) {
    if (out->failed)
        return;
    const size_t n = out->len - start;
    for (size_t i = 0; i < 4; i++)
        out->data[start - 4 + i] = (char)(n >> (24 - 8 * i));
}

/* Appends a text without NUL characters. */
static void append_text(aoei_buffer *out, const char *s, size_t len) {
    while (len) {
        const char *nul = memchr(s, 0, len);
        const size_t n = nul ? (size_t)(nul - s) : len;
        aoei_buffer_append(out, s, n);
        if (!nul)
            return;
        aoei_buffer_append(out, "\xEF\xBF\xBD", 3);
        s += n + 1;
        len -= n + 1;
    }
}

static void put_text(aoei_buffer *out, const char *s, size_t len) {
    const size_t start = begin(out);
    append_text(out, s, len);
    end(out, start);
}

static void put_number(aoei_buffer *out, size_t value) {
    aoei_pg_put32(out, 4);
    aoei_pg_put32(out, value < INT_MAX ? (uint32_t)value : INT_MAX);
}

/* Writes a line number; 0 becomes NULL. */
static void put_line(aoei_buffer *out, size_t line) {
    if (line)
        put_number(out, line);
    else
        aoei_pg_put32(out, UINT32_MAX);
}

/* Writes the extension of a path, or NULL if it has none. */
static void put_extension(aoei_buffer *out, const char *path) {
    char ext[AOEI_EXTENSION_BYTES];
    if (aoei_path_extension(path, ext))
        put_text(out, ext, strlen(ext));
    else
        aoei_pg_put32(out, UINT32_MAX);
}

/* ---------------------------------------------------------------- metadata */

/* Appends a text as a JSON string. */
static void append_json(aoei_buffer *out, const char *s, size_t len) {
    aoei_buffer_putc(out, '"');
    for (size_t i = 0; i < len; i++) {
        const unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\') {
            aoei_buffer_putc(out, '\\');
            aoei_buffer_putc(out, s[i]);
        } else if (c == 0) {
            append_text(out, "", 1);
        } else if (c < 0x20) {
            aoei_buffer_printf(out, "\\u%04x", c);
        } else {
            aoei_buffer_putc(out, s[i]);
        }
    }
    aoei_buffer_putc(out, '"');
}

static void append_value(aoei_buffer *out, aoe_text value) {
    if (aoei_is_plain_number(value))
        aoei_buffer_append(out, value.data, value.len);
    else
        append_json(out, value.data, value.len);
}

/* Returns the number of the fields first to n - 1 with the key of field `first`. */
static size_t count_key(const aoe_index_field *field, size_t first, size_t n) {
    size_t count = 0;
    for (size_t i = first; i < n; i++)
        count += strcmp(field[i].key, field[first].key) == 0;
    return count;
}

/* Returns 1 if a field before `i` has its key. */
static int is_repeated(const aoe_index_field *field, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (strcmp(field[k].key, field[i].key) == 0)
            return 1;
    return 0;
}

void aoei_pg_metadata(aoei_buffer *out, const aoe_index_field *field, size_t n) {
    const char *comma = "";
    aoei_buffer_putc(out, '{');
    for (size_t i = 0; i < n; i++) {
        if (is_repeated(field, i))
            continue;
        const int is_list = count_key(field, i, n) > 1;
        const char *next = "";
        aoei_buffer_printf(out, "%s", comma);
        append_json(out, field[i].key, strlen(field[i].key));
        aoei_buffer_printf(out, is_list ? ":[" : ":");
        for (size_t k = i; k < n; k++) {
            if (strcmp(field[k].key, field[i].key) != 0)
                continue;
            aoei_buffer_printf(out, "%s", next);
            append_value(out, field[k].value);
            next = ",";
        }
        if (is_list)
            aoei_buffer_putc(out, ']');
        comma = ",";
    }
    aoei_buffer_putc(out, '}');
}

/* -------------------------------------------------------------------- rows */

void aoei_pg_rows_begin(aoei_buffer *out) {
    aoei_buffer_append(out, "PGCOPY\n\377\r\n", 11); /* with the NUL of the string */
    aoei_pg_put32(out, 0);
    aoei_pg_put32(out, 0);
}

void aoei_pg_rows_end(aoei_buffer *out) {
    aoei_pg_put16(out, UINT16_MAX);
}

/* Writes the words of the heading and the text, as the local word index contains them, and their number. */
static int put_words(aoei_buffer *out, const aoe_index_hit *hit, aoei_pg_lexer *lexer, aoe_error *err) {
    aoei_buffer text = {0};
    size_t words = 0;
    aoei_buffer_append(&text, hit->heading, strlen(hit->heading));
    aoei_buffer_putc(&text, '\n');
    aoei_buffer_append(&text, hit->text.data, hit->text.len);
    int rc = text.failed ? aoei_fail_nomem(err, hit->text.len) : 0;
    const size_t start = begin(out);
    if (!rc)
        rc = aoei_pg_tsvector(lexer, (aoe_text){text.data, text.len}, out, &words, err);
    end(out, start);
    put_number(out, words);
    aoei_buffer_free(&text);
    return rc;
}

int aoei_pg_row(aoei_buffer *out, const aoei_pg_passage *p, uint64_t hash, aoei_pg_lexer *lexer, aoe_error *err) {
    const aoe_index_hit *hit = p->hit;
    const size_t first = out->len;
    aoei_pg_put16(out, COLUMNS);
    put_text(out, hit->id, strlen(hit->id));
    put_text(out, hit->name, strlen(hit->name));
    put_number(out, p->position);
    put_extension(out, hit->path ? hit->path : hit->name);
    put_line(out, hit->line);
    put_line(out, hit->last_line);
    put_text(out, hit->heading, strlen(hit->heading));
    put_text(out, hit->text.data, hit->text.len);
    size_t start = begin(out);
    aoei_buffer_putc(out, 1); /* version of the format of jsonb */
    aoei_pg_metadata(out, hit->field, hit->n_fields);
    end(out, start);
    aoei_pg_put32(out, 8);
    aoei_pg_put64(out, hash);
    const int rc = put_words(out, hit, lexer, err);
    if (rc)
        return rc;
    start = begin(out);
    aoei_pg_put_vector(out, p->vector, p->dims);
    end(out, start);
    if (out->failed)
        return aoei_fail_nomem(err, out->len - first);
    if (out->len - first > ROW_BYTES_MAX)
        return aoei_fail(err, AOE_EARG, "%s: a passage has %zu bytes with its metadata; PostgreSQL stores at most 1 GB",
                         hit->name, out->len - first);
    return 0;
}
