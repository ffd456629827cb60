/* SPDX-License-Identifier: MIT
 * Reads ids and hashes with COPY, one line per row, in the order of the bytes of the ids.
 */
#include "postgres/pg_known.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"

int aoei_pg_id_parse(const char *id, size_t len, uint64_t *number) {
    if (len != AOEI_PG_ID_BYTES)
        return 0;
    *number = 0;
    for (size_t i = 0; i < len; i++) {
        const char c = id[i];
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            return 0;
        *number = *number * 16 + (uint64_t)digit;
    }
    return 1;
}

void aoei_pg_id_format(uint64_t number, char id[AOEI_PG_ID_BYTES + 1]) {
    snprintf(id, AOEI_PG_ID_BYTES + 1, "%012" PRIx64, number & UINT64_C(0xffffffffffff));
}

/* Adds the row of a line ID TAB HASH NEWLINE. */
static int add_line(aoei_pg_known *known, const char *line, size_t len, aoe_error *err) {
    const char *tab = memchr(line, '\t', len);
    uint64_t id;
    if (!tab || !aoei_pg_id_parse(line, (size_t)(tab - line), &id))
        return 0;
    if (aoei_grow((void **)&known->row, &known->capacity, known->n, sizeof *known->row))
        return aoei_fail_nomem(err, (known->n + 1) * sizeof *known->row);
    known->row[known->n++] = (aoei_pg_row_state){.id = id, .hash = (uint64_t)strtoll(tab + 1, NULL, 10)};
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
    snprintf(sql, sizeof sql, "COPY (SELECT id, hash FROM %s ORDER BY id) TO STDOUT", t->name);
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
    *known = (aoei_pg_known){.n = 0};
}

static int compare(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = ((const aoei_pg_row_state *)b)->id;
    return (x > y) - (x < y);
}

aoei_pg_row_state *aoei_pg_known_find(const aoei_pg_known *known, uint64_t id) {
    return known->n ? bsearch(&id, known->row, known->n, sizeof *known->row, compare) : NULL;
}
