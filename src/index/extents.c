/* SPDX-License-Identifier: MIT
 * Computes the CRC-32 of the rows of the vector files per extent: of all extents of a view, or of the extent of one
 * row.
 */
#include "index/extents.h"

#include <zlib.h>

#include "base/alloc.h"
#include "base/error.h"

enum { BLOCK_BYTES = 1 << 18 /* bytes of rows that are read together */ };

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

/* Reads the rows of an extent of one file. Returns 1 if their checksum is crc, 0 if not, or an error. */
static int check_file(const aoei_vector_file *f, uint64_t first, uint64_t n, uint32_t crc, aoe_error *err) {
    const size_t block = BLOCK_BYTES / f->stride + 1;
    unsigned char *rows = aoei_malloc_array(block, f->stride);
    if (!rows)
        return aoei_fail_nomem(err, block * f->stride);
    uint32_t found = 0;
    int rc = 0;
    for (uint64_t done = 0; !rc && done < n; done += block) {
        const size_t now = n - done < block ? (size_t)(n - done) : block;
        rc = aoei_vector_file_read(f, (size_t)(first + done), rows, now, err);
        found = (uint32_t)crc32_z(found, rows, now * f->stride);
    }
    aoei_free(rows);
    return rc ? rc : found == crc;
}

/* Reads the extent that contains a row. Returns 1, or 0 if there is none. */
static int find_extent(aoei_index_writer *w, uint64_t row, aoei_extent *e, aoe_error *err) {
    sqlite3_stmt *stmt;
    int rc = aoei_db_prepare(&w->db,
                             "SELECT first_row, n, codes, signs, vals FROM extents WHERE first_row <= ?1 ORDER BY "
                             "first_row DESC LIMIT 1",
                             &stmt, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)row);
    if ((rc = aoei_db_step(&w->db, stmt, err)) <= 0)
        return rc;
    const int64_t first = sqlite3_column_int64(stmt, 0), n = sqlite3_column_int64(stmt, 1);
    *e = (aoei_extent){.first_row = (uint64_t)first, .n = (uint64_t)n};
    for (int i = 0; i < 3; i++)
        e->crc[i] = (uint32_t)sqlite3_column_int64(stmt, 2 + i);
    aoei_db_reset(stmt);
    return first >= 0 && n > 0 && row - (uint64_t)first < (uint64_t)n &&
           (uint64_t)n <= w->now.state.rows - (uint64_t)first;
}

int aoei_extents_row_is_intact(aoei_index_writer *w, uint64_t row, aoe_error *err) {
    if (row >= w->committed.state.rows)
        return row < w->now.state.rows;
    for (size_t i = w->n_checked; i-- > 0;)
        if (row >= w->checked[i].first && row - w->checked[i].first < w->checked[i].n)
            return w->checked[i].intact;
    aoei_extent e = {0};
    int rc = find_extent(w, row, &e, err);
    if (rc == 0) /* the other rows may have an extent */
        e = (aoei_extent){.first_row = row, .n = 1};
    for (size_t i = 0; rc == 1 && i < w->n_files; i++)
        rc = check_file(&w->file[i], e.first_row, e.n, e.crc[i], err);
    if (rc < 0)
        return rc;
    if (aoei_grow((void **)&w->checked, &w->checked_capacity, w->n_checked, sizeof *w->checked))
        return aoei_fail_nomem(err, sizeof *w->checked);
    w->checked[w->n_checked++] = (aoei_checked_rows){.first = e.first_row, .n = e.n, .intact = rc};
    return rc;
}
