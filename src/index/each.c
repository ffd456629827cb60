/* SPDX-License-Identifier: MIT
 * Iterates over all passages of an index with their vectors, in the order of document names and positions. The function
 * is one read transaction, so all passages belong to the same commit.
 */
#include "aoe_index.h"

#include <math.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "index/hits.h"
#include "index/reader.h"

/* State of the iteration. */
typedef struct each {
    aoei_reader *r;
    aoe_index_passage_fn fn;
    void *user;
    float *vector;     /* [D], owned */
    aoei_found *found; /* [capacity] passages of the current document, owned */
    size_t capacity;
    aoe_error *err;
} each;

/* Calls fn for the passages of a document. */
static int visit_document(each *e, const aoei_located *place) {
    const size_t n = (size_t)place->n;
    aoe_index_hits hits = {.struct_size = sizeof hits};
    for (size_t i = 0; i < n; i++) {
        if (aoei_grow((void **)&e->found, &e->capacity, i, sizeof *e->found))
            return aoei_fail_nomem(e->err, n * sizeof *e->found);
        const aoei_ranked ranked = {.passage = place->first_passage + (int64_t)i, .score = NAN, .place = place};
        e->found[i] = (aoei_found){.ranked = ranked, .cosine = NAN, .bm25 = NAN};
    }
    int code = aoei_hits_load(&hits, &e->r->db, e->found, n, NULL, e->err);
    for (size_t i = 0; !code && i < n; i++) {
        aoei_view_vector(e->r->view, (size_t)place->first_row + i, e->vector);
        code = e->fn(e->user, &hits.hit[i], e->vector, e->err);
    }
    aoe_index_hits_free(&hits);
    return code;
}

static int visit_documents(each *e) {
    sqlite3_stmt *s;
    aoei_db *d = &e->r->db;
    int code = aoei_db_prepare(d,
                               "SELECT id, name, first_passage, first_row, n_passages FROM documents WHERE "
                               "n_passages > 0 ORDER BY name",
                               &s, e->err);
    if (code)
        return code;
    while ((code = aoei_db_step(d, s, e->err)) > 0) {
        const aoei_located place = {.name = aoei_column_text(s, 1).data,
                                    .document = sqlite3_column_int64(s, 0),
                                    .first_passage = sqlite3_column_int64(s, 2),
                                    .first_row = sqlite3_column_int64(s, 3),
                                    .n = sqlite3_column_int64(s, 4)};
        if (place.n < 0 || place.first_passage < 0 || place.first_passage > INT64_MAX - UINT32_MAX ||
            place.first_row < 0 || (uint64_t)place.first_row > e->r->view->rows ||
            (uint64_t)place.n > e->r->view->rows - (uint64_t)place.first_row)
            code = aoei_db_damaged(d, "a document has rows that do not exist", e->err);
        else
            code = visit_document(e, &place);
        if (code) {
            aoei_db_reset(s);
            return code;
        }
    }
    return code;
}

int aoe_index_each(aoe_index *index, aoe_index_passage_fn fn, void *user, aoe_error *err) {
    AOEI_CHECK(err, index, fn);
    each e = {.fn = fn, .user = user, .err = err};
    int code = aoei_reader_begin(&e.r, index, err);
    if (code)
        return code;
    e.vector = aoei_malloc_array(index->settings.dims, sizeof *e.vector);
    code = e.vector ? visit_documents(&e) : aoei_fail_nomem(err, index->settings.dims * sizeof *e.vector);
    aoei_free(e.vector);
    aoei_free(e.found);
    int changed;
    return aoei_reader_finish(e.r, code, &changed, err);
}
