/* SPDX-License-Identifier: MIT
 * A document's passages are a range of ids and a range of rows. If a condition allows few documents, the ranges are
 * looked up one by one; otherwise the ranges of all documents are needed.
 */
#include "index/allowed.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "index/where_sql.h"

enum { FEW = 16 /* at most one in FEW documents: look them up one by one */ };

static size_t words_of(size_t n) {
    return n / 64 + (n % 64 != 0);
}

static int is_set(const uint64_t *bits, size_t i) {
    return (int)(bits[i / 64] >> i % 64 & 1);
}

/* Sets `count` bits from `first` on. Bits from n on do not exist. */
static void set_range(uint64_t *bits, size_t n, sqlite3_int64 first, sqlite3_int64 count) {
    if (first < 0)
        return;
    for (size_t i = (size_t)first; i < n && count > 0; i++, count--)
        bits[i / 64] |= UINT64_C(1) << i % 64;
}

/* Sets the bits of the document in columns 0 to 2 of a row. */
static void allow_document(aoei_allowed *a, sqlite3_stmt *s) {
    const sqlite3_int64 n = sqlite3_column_int64(s, 2);
    if (sqlite3_column_type(s, 0) == SQLITE_NULL)
        return;
    set_range(a->rows, a->n_rows, sqlite3_column_int64(s, 0), n);
    set_range(a->passages, a->n_passages, sqlite3_column_int64(s, 1), n);
}

static int allow_few(aoei_allowed *a, aoei_db *d, const uint64_t *documents, size_t n, aoe_error *err) {
    sqlite3_stmt *s;
    int code = aoei_db_prepare(d, "SELECT first_row, first_passage, n_passages FROM documents WHERE id = ?1", &s, err);
    for (size_t i = 0; !code && i < n; i++) {
        if (!documents[i / 64]) {
            i |= 63; /* to the next word of the bitmap */
            continue;
        }
        if (!is_set(documents, i))
            continue;
        (void)sqlite3_bind_int64(s, 1, (sqlite3_int64)i);
        code = aoei_db_step(d, s, err);
        if (code > 0) {
            allow_document(a, s);
            aoei_db_reset(s);
            code = 0;
        }
    }
    return code;
}

/* Sets the bits of the passages of documents[n]. */
static void allow_many(aoei_allowed *a, const aoei_ranges *r, const uint64_t *documents, size_t n) {
    for (size_t i = 0; i < n && i < r->n; i++)
        if (is_set(documents, i)) {
            set_range(a->rows, a->n_rows, r->range[i].first_row, r->range[i].n);
            set_range(a->passages, a->n_passages, r->range[i].first_passage, r->range[i].n);
        }
}

static size_t count_bits(const uint64_t *bits, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < words_of(n); i++)
        for (uint64_t x = bits[i]; x; x &= x - 1)
            count++;
    return count;
}

/* Allocates the bitmaps of passages and rows. */
static int allocate(aoei_allowed *a, aoei_db *d, aoe_error *err) {
    const int code = aoei_ids_end(d, "SELECT coalesce(max(id), -1) FROM passages", &a->n_passages, err);
    if (code)
        return code;
    a->rows = aoei_calloc(words_of(a->n_rows) + 1, sizeof *a->rows);
    a->passages = aoei_calloc(words_of(a->n_passages) + 1, sizeof *a->passages);
    return a->rows && a->passages ? 0 : aoei_fail_nomem(err, words_of(a->n_rows) * sizeof *a->rows);
}

int aoei_allowed_create(aoei_allowed *a, aoei_db *d, const aoe_index_search_options *o, size_t n_rows,
                        aoei_ranges_fn ranges, void *user, aoe_error *err) {
    *a = (aoei_allowed){.n_rows = n_rows};
    aoei_where *w;
    size_t n = 0;
    uint64_t *documents = NULL;
    int code = aoei_where_create(&w, o->where, o->path, o->n_paths, err);
    if (code || !w)
        return code;
    code = aoei_ids_end(d, "SELECT coalesce(max(id), -1) FROM documents", &n, err);
    if (!code) {
        documents = aoei_calloc(words_of(n) + 1, sizeof *documents);
        code = documents ? aoei_where_documents(w, d, documents, n, err) : aoei_fail_nomem(err, words_of(n) * 8);
    }
    if (!code)
        code = allocate(a, d, err);
    if (!code && count_bits(documents, n) <= n / FEW) {
        code = allow_few(a, d, documents, n, err);
    } else if (!code) {
        const aoei_ranges *all = NULL;
        code = ranges(user, d, &all, err);
        if (!code)
            allow_many(a, all, documents, n);
    }
    aoei_free(documents);
    aoei_where_free(w);
    return code;
}

void aoei_allowed_free(aoei_allowed *a) {
    aoei_free(a->rows);
    aoei_free(a->passages);
    *a = (aoei_allowed){0};
}
