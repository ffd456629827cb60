/* SPDX-License-Identifier: MIT
 * Reads the ranges of all documents.
 */
#include "index/ranges.h"

#include "base/alloc.h"
#include "base/error.h"

int aoei_ids_end(aoei_db *d, const char *sql, size_t *n, aoe_error *err) {
    int64_t last;
    const int code = aoei_db_number(d, sql, &last, err);
    if (code)
        return code;
    if (last < -1 || last >= (int64_t)UINT32_MAX)
        return aoei_db_damaged(d, "an id is out of range", err);
    *n = (size_t)(last + 1);
    return 0;
}

/* Returns 1 if the value of a column fits into a range. */
static int read_number(sqlite3_stmt *s, int column, uint32_t *value) {
    const sqlite3_int64 x = sqlite3_column_int64(s, column);
    *value = (uint32_t)x;
    return x >= 0 && x <= (sqlite3_int64)UINT32_MAX;
}

static int read_rows(aoei_ranges *r, aoei_db *d, aoe_error *err) {
    sqlite3_stmt *s;
    int code = aoei_db_prepare(
        d, "SELECT id, first_row, first_passage, n_passages FROM documents WHERE first_row IS NOT NULL", &s, err);
    if (code)
        return code;
    while ((code = aoei_db_step(d, s, err)) > 0) {
        const sqlite3_int64 id = sqlite3_column_int64(s, 0);
        aoei_range x;
        if (id < 0 || (uint64_t)id >= r->n || !read_number(s, 1, &x.first_row) ||
            !read_number(s, 2, &x.first_passage) || !read_number(s, 3, &x.n)) {
            aoei_db_reset(s);
            return aoei_db_damaged(d, "the passages of a document are out of range", err);
        }
        r->range[id] = x;
    }
    return code;
}

int aoei_ranges_read(aoei_ranges **out, aoei_db *d, aoe_error *err) {
    size_t n = 0;
    *out = NULL;
    int code = aoei_ids_end(d, "SELECT coalesce(max(id), -1) FROM documents", &n, err);
    if (code)
        return code;
    aoei_ranges *r = aoei_calloc(1, sizeof *r);
    if (!r)
        return aoei_fail_nomem(err, sizeof *r);
    r->n = n;
    r->range = aoei_calloc(n ? n : 1, sizeof *r->range);
    code = r->range ? read_rows(r, d, err) : aoei_fail_nomem(err, n * sizeof *r->range);
    if (code)
        aoei_ranges_free(r);
    else
        *out = r;
    return code;
}

void aoei_ranges_free(aoei_ranges *r) {
    if (!r)
        return;
    aoei_free(r->range);
    aoei_free(r);
}
