/* SPDX-License-Identifier: MIT
 * Scans the mapped vectors of a view (vectors/scan.h) and converts the rows that were found to passages.
 */
#include "index/dense.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "index/encode.h"

enum { CANDIDATES = 40 /* the fast scan computes the scores of CANDIDATES k rows */ };

int aoei_dense_embed(const aoe_index *index, const aoe_text *queries, size_t Q, float *vectors, aoe_error *err) {
    if (!index->embedder)
        return aoei_fail(err, AOE_EARG,
                         "the index was opened without an embedder, so only lexical search is possible; open it with "
                         "the model %s",
                         index->settings.model && index->settings.model[0] ? index->settings.model : "of the index");
    int code = Q ? aoe_embed_queries(index->embedder, queries, Q, vectors, NULL, err) : 0;
    const size_t D = index->settings.dims;
    for (size_t i = 0; !code && i < Q; i++)
        if (aoei_scale_to_unit(vectors + i * D, vectors + i * D, D) < D)
            code = aoei_fail(err, AOE_ENUMERIC, "the embedding of a query is not finite; check the model");
    return code;
}

static aoei_dtype type_of(aoe_index_store store) {
    switch (store) {
    case AOE_INDEX_F32:
        return AOEI_F32;
    case AOE_INDEX_BF16:
        return AOEI_BF16;
    default:
        return AOEI_I8;
    }
}

aoei_scan aoei_dense_rows(const aoei_reader *r, const uint64_t *allowed) {
    const aoei_view *v = r->view;
    const aoei_index_settings *settings = &r->index->settings;
    return (aoei_scan){.codes = v->codes.rows,
                       .signs = v->signs.rows,
                       .values = v->values.rows,
                       .type = type_of(settings->store),
                       .n = v->rows,
                       .D = settings->dims,
                       .allowed = allowed                  ? allowed
                                  : v->live_rows < v->rows ? v->live
                                                           : NULL};
}

/* Converts the neighbors of a query to passages. */
static int convert(aoei_dense *dense, const aoei_neighbor *neighbor, size_t k, aoei_locator *locator, aoe_error *err) {
    dense->best = aoei_malloc_array(k ? k : 1, sizeof *dense->best);
    if (!dense->best)
        return aoei_fail_nomem(err, k * sizeof *dense->best);
    for (size_t i = 0; i < k && neighbor[i].text != AOEI_NO_TEXT; i++) {
        aoei_ranked *x = &dense->best[i];
        const int code = aoei_locate_row(locator, neighbor[i].text, &x->place, err);
        if (code)
            return code;
        x->passage = x->place->first_passage + (neighbor[i].text - x->place->first_row);
        x->score = neighbor[i].score;
        dense->n++;
    }
    return 0;
}

static int scan(aoei_reader *r, const float *vectors, size_t Q, size_t k, int fast, const uint64_t *allowed,
                aoei_locator *locator, aoei_neighbor *best, aoe_error *err) {
    const aoe_context *ctx = aoe_model_context(aoe_embedder_model(r->index->embedder));
    const aoei_scan s = aoei_dense_rows(r, allowed);
    const int code = fast
                         ? aoei_scan_fast(ctx, &s, vectors, Q, k, CANDIDATES * k, aoei_locate_order, locator, best, err)
                         : aoei_scan_exact(ctx, &s, vectors, Q, k, aoei_locate_order, locator, best, err);
    if (!code && locator->code) {
        if (err)
            *err = locator->err;
        return locator->code;
    }
    return code;
}

int aoei_dense_search(aoei_reader *r, const float *vectors, size_t Q, size_t k, int fast, const uint64_t *allowed,
                      aoei_locator *locator, aoei_dense *dense, aoe_error *err) {
    memset(dense, 0, Q * sizeof *dense);
    if (k > r->view->live_rows)
        k = r->view->live_rows;
    if (k == 0 || Q == 0)
        return 0;
    size_t n;
    if (aoei_mul_size(Q, k, &n))
        return aoei_fail_nomem(err, SIZE_MAX);
    aoei_neighbor *best = aoei_malloc_array(n, sizeof *best);
    if (!best)
        return aoei_fail_nomem(err, n * sizeof *best);
    int code = scan(r, vectors, Q, k, fast, allowed, locator, best, err);
    for (size_t q = 0; !code && q < Q; q++)
        code = convert(&dense[q], best + q * k, k, locator, err);
    aoei_free(best);
    return code;
}
