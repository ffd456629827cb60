/* SPDX-License-Identifier: MIT
 * Reads the rows with COPY in text format: one line per row, whose values are separated by tabs. The name is the last
 * value. In it, COPY writes a backslash and the control characters as escapes.
 */
#include "postgres/pg_known.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"

int aoei_pg_is_id(const char *id, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (!((id[i] >= '0' && id[i] <= '9') || (id[i] >= 'a' && id[i] <= 'f')))
            return 0;
    return len == AOEI_PG_ID_BYTES;
}

/* Replaces the escapes of COPY in text[len]. Returns the new length. */
static size_t unescape(char *text, size_t len) {
    static const char from[] = "bfnrtv", to[] = "\b\f\n\r\t\v";
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '\\' || i + 1 == len) {
            text[n++] = text[i];
            continue;
        }
        const char c = text[++i], *at = c ? strchr(from, c) : NULL;
        text[n++] = at ? to[at - from] : c;
    }
    return n;
}

/* Returns a copy of the name of a document, which the row before may share. NULL: out of memory. */
static const char *take_name(aoei_pg_known *known, const char *name, size_t len) {
    const char *last = known->n ? known->row[known->n - 1].name : NULL;
    if (last && strlen(last) == len && memcmp(last, name, len) == 0)
        return last;
    char *copy = aoei_chunks_take(&known->names, len + 1);
    if (!copy)
        return NULL;
    if (len)
        memcpy(copy, name, len);
    copy[len] = 0;
    return copy;
}

/* Adds the row of a line ID TAB NUMBER TAB POSITION TAB HASH TAB NAME NEWLINE. */
static int add_line(aoei_pg_known *known, char *line, size_t len, aoe_error *err) {
    char *end = memchr(line, '\t', len);
    if (!end || !aoei_pg_is_id(line, (size_t)(end - line)))
        return 0;
    const int64_t number = strtoll(end + 1, &end, 10);
    const long position = *end == '\t' ? strtol(end + 1, &end, 10) : 0;
    const int64_t hash = *end == '\t' ? strtoll(end + 1, &end, 10) : 0;
    if (*end != '\t' || position < 0 || position > INT_MAX)
        return 0;
    char *name = end + 1;
    size_t n = len - (size_t)(name - line);
    n = unescape(name, n && name[n - 1] == '\n' ? n - 1 : n);
    const char *copy = take_name(known, name, n);
    if (!copy || aoei_grow((void **)&known->row, &known->capacity, known->n, sizeof *known->row))
        return aoei_fail_nomem(err, (known->n + 1) * sizeof *known->row);
    known->row[known->n++] =
        (aoei_pg_row_state){.number = number, .name = copy, .hash = (uint64_t)hash, .position = (int)position};
    return 0;
}

/* Reads all lines. They must be read to the end, also if memory runs out. */
static int read_lines(aoei_pg_known *known, const aoei_pg *s, aoe_error *err) {
    int rc = 0, n;
    char *line;
    while ((n = aoei_pq.getCopyData(s->conn, &line, 0)) > 0) {
        if (!rc)
            rc = add_line(known, line, (size_t)n, err);
        aoei_pq.freemem(line);
    }
    if (rc)
        return rc;
    return n == -1 ? 0 : aoei_pg_fail(s, err);
}

int aoei_pg_known_read(aoei_pg_known *known, const aoei_pg *s, const aoei_pg_table *t, aoe_error *err) {
    char sql[512];
    *known = (aoei_pg_known){.n = 0};
    snprintf(sql, sizeof sql,
             "COPY (SELECT id, number, position, hash, name FROM %s ORDER BY name COLLATE \"C\", position, number) TO "
             "STDOUT",
             t->name);
    aoei_pq_result *r = aoei_pq.exec(s->conn, sql);
    int rc = aoei_pg_result(s, r, AOEI_PQ_COPY_OUT, err);
    if (rc)
        return rc;
    aoei_pq.clear(r);
    rc = read_lines(known, s, err);
    while ((r = aoei_pq.getResult(s->conn))) {
        const int end = rc ? 0 : aoei_pg_result(s, r, AOEI_PQ_COMMAND_OK, err);
        if (!end)
            aoei_pq.clear(r);
        rc = rc ? rc : end;
    }
    return rc;
}

void aoei_pg_known_free(aoei_pg_known *known) {
    aoei_free(known->row);
    aoei_chunks_free(&known->names);
    *known = (aoei_pg_known){.n = 0};
}

static int compare(const void *a, const void *b) {
    const aoei_pg_row_state *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->position > y->position) - (x->position < y->position);
}

aoei_pg_row_state *aoei_pg_known_find(const aoei_pg_known *known, const char *name, size_t position) {
    const aoei_pg_row_state key = {.name = name, .position = (int)position};
    return known->n && position <= INT_MAX ? bsearch(&key, known->row, known->n, sizeof key, compare) : NULL;
}
