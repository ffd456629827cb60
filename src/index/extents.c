/* SPDX-License-Identifier: MIT
 * Reads all rows of the vector files once and computes their CRC-32 per extent.
 */
#include "index/extents.h"

#include <zlib.h>

#include "base/alloc.h"
#include "base/error.h"

static int is_intact(const aoei_vectors *v, uint64_t first, uint64_t n, uint32_t crc) {
    if (!v->rows || first > v->n || n > v->n - first)
        return 0;
    return crc32_z(0, v->rows + (size_t)first * v->stride, (size_t)n * v->stride) == crc;
}

/* Marks the rows of an extent, and returns the number of those that belong to documents. */
static size_t mark(uint64_t *bad, const aoei_view *v, uint64_t first, uint64_t n) {
    size_t live = 0;
    for (uint64_t i = first; i < first + n; i++) {
        bad[i / 64] |= (uint64_t)1 << (i % 64);
        live += (size_t)aoei_view_is_live(v, (size_t)i);
    }
    return live;
}

static int check_rows(uint64_t *bad, size_t *n_bad, aoei_db *d, const aoei_view *v, aoe_error *err) {
    const aoei_vectors *const files[] = {&v->codes, &v->signs, &v->values};
    const size_t n_files = v->store == AOE_INDEX_INT8 ? 2 : 3;
    sqlite3_stmt *stmt;
    uint64_t next = 0;
    int rc = aoei_db_prepare(d, "SELECT first_row, n, codes, signs, vals FROM extents ORDER BY first_row", &stmt, err);
    while (!rc && (rc = aoei_db_step(d, stmt, err)) == 1) {
        const int64_t first = sqlite3_column_int64(stmt, 0), n = sqlite3_column_int64(stmt, 1);
        rc = 0;
        if (first < 0 || (uint64_t)first != next || n <= 0 || (uint64_t)n > v->rows - next) {
            rc = aoei_db_damaged(d, "the list of checksums does not match the vectors", err);
            break;
        }
        int intact = 1;
        for (size_t i = 0; intact && i < n_files; i++)
            intact = is_intact(files[i], next, (uint64_t)n, (uint32_t)sqlite3_column_int64(stmt, 2 + (int)i));
        if (!intact)
            *n_bad += mark(bad, v, next, (uint64_t)n);
        next += (uint64_t)n;
    }
    if (rc) {
        aoei_db_reset(stmt);
        return rc;
    }
    return next == v->rows ? 0 : aoei_db_damaged(d, "the list of checksums does not match the vectors", err);
}

int aoei_extents_check(uint64_t **bad, size_t *n_bad, aoei_db *d, const aoei_view *v, aoe_error *err) {
    *n_bad = 0;
    if (!(*bad = aoei_calloc(v->rows / 64 + 1, sizeof **bad)))
        return aoei_fail_nomem(err, v->rows / 8);
    const int rc = check_rows(*bad, n_bad, d, v, err);
    if (rc) {
        aoei_free(*bad);
        *bad = NULL;
    }
    return rc;
}
