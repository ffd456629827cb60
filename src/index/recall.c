/* SPDX-License-Identifier: MIT
 * Measures how many of the nearest vectors the fast scan finds, with stored vectors as queries.
 */
#include "aoe_index.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/random.h"
#include "index/dense.h"
#include "index/locate.h"
#include "index/reader.h"

/* Vectors that are used as queries, and what both scans found for them. */
typedef struct trial {
    size_t n;                 /* number of queries */
    int64_t *passage;         /* [n] passages of the queries, owned */
    float *vectors;           /* [n, D], owned */
    aoei_dense *exact, *fast; /* [n], owned */
} trial;

/* Draws live rows with a fixed seed. */
static int draw(trial *t, aoei_reader *r, aoei_locator *locator, aoe_error *err) {
    const aoei_view *v = r->view;
    aoei_rng rng;
    aoei_rng_init(&rng, 0, AOEI_STREAM_QUERIES, 0);
    for (size_t i = 0; i < t->n; i++) {
        const aoei_located *place;
        size_t row;
        do
            row = aoei_rng_below(&rng, (uint32_t)v->rows);
        while (!aoei_view_is_live(v, row));
        const int rc = aoei_locate_row(locator, (int64_t)row, &place, err);
        if (rc)
            return rc;
        t->passage[i] = place->first_passage + ((int64_t)row - place->first_row);
        aoei_view_vector(v, row, t->vectors + i * v->dims);
    }
    return 0;
}

/* Returns 1 if a passage was found. */
static int contains(const aoei_dense *d, int64_t passage) {
    for (size_t i = 0; i < d->n; i++)
        if (d->best[i].passage == passage)
            return 1;
    return 0;
}

/* Returns the share of the k best passages of the exact scan, without that of the query, that the fast scan found. */
static double compare(const trial *t, size_t k) {
    size_t all = 0, found = 0;
    for (size_t i = 0; i < t->n; i++)
        for (size_t j = 0, used = 0; j < t->exact[i].n && used < k; j++) {
            const int64_t passage = t->exact[i].best[j].passage;
            if (passage == t->passage[i])
                continue;
            used++;
            all++;
            found += (size_t)contains(&t->fast[i], passage);
        }
    return all ? (double)found / (double)all : 1;
}

static int try_scans(trial *t, aoei_reader *r, size_t k, double *recall, aoe_error *err) {
    aoei_locator locator;
    aoei_locator_init(&locator, &r->db);
    int rc = draw(t, r, &locator, err);
    if (!rc)
        rc = aoei_dense_search(r, t->vectors, t->n, k + 1, 0, NULL, &locator, t->exact, err);
    if (!rc)
        rc = aoei_dense_search(r, t->vectors, t->n, k + 1, 1, NULL, &locator, t->fast, err);
    if (!rc)
        *recall = compare(t, k);
    aoei_locator_destroy(&locator);
    return rc;
}

static void trial_free(trial *t) {
    for (size_t i = 0; i < t->n && t->exact && t->fast; i++) {
        aoei_free(t->exact[i].best);
        aoei_free(t->fast[i].best);
    }
    aoei_free(t->passage);
    aoei_free(t->vectors);
    aoei_free(t->exact);
    aoei_free(t->fast);
}

int aoe_index_recall(aoe_index *index, size_t k, size_t n_queries, double *recall, aoe_error *err) {
    AOEI_CHECK(err, index, recall);
    *recall = 1;
    if (!index->embedder)
        return aoei_fail(err, AOE_EARG, "%s: measuring the fast scan needs an embedder", index->dir);
    if (k == 0 || k > UINT32_MAX - 1 || n_queries == 0)
        return aoei_fail(err, AOE_EARG, "aoe_index_recall: k or n_queries is 0 or too large");
    aoei_reader *r;
    int rc = aoei_reader_begin(&r, index, err);
    if (rc)
        return rc;
    trial t = {.n = n_queries,
               .passage = aoei_malloc_array(n_queries, sizeof *t.passage),
               .vectors = aoei_malloc_array(n_queries, index->settings.dims * sizeof *t.vectors),
               .exact = aoei_calloc(n_queries, sizeof *t.exact),
               .fast = aoei_calloc(n_queries, sizeof *t.fast)};
    if (!t.passage || !t.vectors || !t.exact || !t.fast)
        rc = aoei_fail_nomem(err, n_queries * index->settings.dims * sizeof *t.vectors);
    else if (r->view->live_rows > 0)
        rc = try_scans(&t, r, k, recall, err);
    trial_free(&t);
    int changed;
    return aoei_reader_finish(r, rc, &changed, err);
}
