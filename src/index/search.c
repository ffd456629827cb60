/* SPDX-License-Identifier: MIT
 * Search. A search is one read transaction: the condition becomes bitmaps (allowed.h), both halves find their best
 * passages among these (dense.h, lexical.h), the lists are fused (fusion.h), and the passages are read (hits.h).
 *
 * Hybrid search needs both halves. A query without words has only the dense list, and an index without an embedder only
 * the lexical list.
 */
#include <math.h>
#include <string.h>

#include "aoe_index.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "index/allowed.h"
#include "index/dense.h"
#include "index/hits.h"
#include "index/reader.h"
#include "index/search_check.h"
#include "vectors/scan.h"

enum { BLOCK = 1024 /* queries whose vectors are scanned together */ };

/* State of the searches of one call. A zeroed struct owns nothing. */
typedef struct search {
    aoe_index *index;
    const aoe_index_search_options *o;
    aoei_reader *reader; /* borrowed */
    aoei_allowed allowed;
    aoei_locator locator;
    const aoei_lengths *lengths; /* of the view; NULL: no search by words */
    size_t depth;                /* passages of each list */
    int is_dense;                /* 1: the dense list is needed */
    float *vectors;              /* [BLOCK, D] embeddings of the queries of a block, owned; NULL if is_dense is 0 */
    aoei_dense *dense;           /* [BLOCK] dense lists of a block, owned; NULL if is_dense is 0 */
    const aoe_text *query;       /* [n] */
    size_t n;
    aoe_index_hits *hits; /* [n] results; the elements of the caller may be smaller than the struct */
    aoe_error *err;
} search;

/* ------------------------------------------------------------- one query */

/* Adds the scores that the other list does not contain. vector: [D] embedding of the query, or NULL */
static void complete(const search *s, aoei_found *found, size_t n, const aoei_lexical *words, const float *vector) {
    const aoei_scan scan = aoei_dense_rows(s->reader, NULL);
    for (size_t i = 0; i < n; i++) {
        const aoei_ranked *x = &found[i].ranked;
        if (isnan(found[i].bm25) && words->score && (size_t)x->passage < words->n)
            found[i].bm25 = words->score[x->passage];
        const uint64_t row = (uint64_t)x->place->first_row + (uint64_t)(x->passage - x->place->first_passage);
        if (isnan(found[i].cosine) && vector && row < scan.n) /* a row outside can only come from a damaged database */
            found[i].cosine = aoei_scan_score(&scan, vector, (size_t)row);
    }
}

/* Combines both lists of a query to at most k passages. found: [dense->n + words->n_best]. Returns their number. */
static size_t combine(const search *s, aoei_found *found, const aoei_dense *dense, const aoei_lexical *words) {
    const aoe_index_search_options *o = s->o;
    size_t n = 0;
    if (o->mode == AOE_INDEX_HYBRID) {
        n = aoei_fuse(found, (aoei_fusion_list){.best = dense->best, .n = dense->n, .weight = o->dense_weight},
                      aoei_lexical_list(words, o->lexical_weight));
    } else if (o->mode == AOE_INDEX_DENSE) {
        n = dense->n;
        aoei_found_dense(found, dense->best, n);
    } else {
        n = words->n_best;
        aoei_found_lexical(found, words->best, n);
    }
    if (n > o->k)
        n = o->k;
    while (n && found[n - 1].ranked.score < o->min_score)
        n--;
    return n;
}

/* Searches by words, and combines the result with the dense list of the query. */
static int search_query(search *s, aoe_text query, const aoei_dense *dense, const float *vector, aoe_index_hits *hits) {
    aoei_lexical words = {0};
    aoei_found *found = NULL;
    int code = 0;
    if (s->lengths)
        code = aoei_lexical_search(&words, &s->reader->db, s->lengths, query, s->allowed.passages, s->depth,
                                   &s->locator, s->err);
    if (!code) {
        const size_t most = dense->n + words.n_best;
        found = aoei_malloc_array(most ? most : 1, sizeof *found);
        code = found ? 0 : aoei_fail_nomem(s->err, most * sizeof *found);
    }
    if (!code) {
        const size_t n = combine(s, found, dense, &words);
        if (s->o->mode == AOE_INDEX_HYBRID)
            complete(s, found, n, &words, vector);
        code = aoei_hits_load(hits, &s->reader->db, found, n, s->lengths ? &words : NULL, s->err);
        hits->stems = !code && s->index->settings.stem;
    }
    aoei_free(found);
    aoei_lexical_free(&words);
    return code;
}

/* -------------------------------------------------------------- all queries */

static int prepare(search *s) {
    const aoe_index_search_options *o = s->o;
    s->is_dense = o->mode == AOE_INDEX_DENSE || (o->mode == AOE_INDEX_HYBRID && s->index->embedder);
    s->depth = o->k > AOEI_FUSION_DEPTH || o->mode != AOE_INDEX_HYBRID ? o->k : AOEI_FUSION_DEPTH;
    aoei_locator_init(&s->locator, &s->reader->db);
    int code = aoei_allowed_create(&s->allowed, &s->reader->db, o, s->reader->view->rows, aoei_view_ranges,
                                   s->reader->view, s->err);
    if (!code && o->mode != AOE_INDEX_DENSE)
        code = aoei_view_lengths(s->reader->view, &s->reader->db, &s->lengths, s->err);
    return code;
}

/* Computes the dense lists of a block of queries. */
static int search_block(search *s, const aoe_text *queries, size_t n) {
    const size_t D = s->index->settings.dims;
    if (!s->vectors)
        s->vectors = aoei_malloc_array(n, D * sizeof *s->vectors);
    if (!s->dense)
        s->dense = aoei_calloc(n, sizeof *s->dense);
    if (!s->vectors || !s->dense)
        return aoei_fail_nomem(s->err, n * D * sizeof *s->vectors);
    const int code = aoei_dense_embed(s->index, queries, n, s->vectors, s->err);
    return code ? code
                : aoei_dense_search(s->reader, s->vectors, n, s->depth, s->o->fast, s->allowed.rows, &s->locator,
                                    s->dense, s->err);
}

static void free_block(search *s, size_t n) {
    for (size_t i = 0; s->dense && i < n; i++) {
        aoei_free(s->dense[i].best);
        s->dense[i] = (aoei_dense){0};
    }
}

static void finish(search *s) {
    aoei_free(s->vectors);
    aoei_free(s->dense);
    aoei_allowed_free(&s->allowed);
    aoei_locator_destroy(&s->locator);
}

/* Returns element i of the caller's array, whose elements may be smaller than the library's. */
static aoe_index_hits *element(aoe_index_hits *hits, size_t i) {
    return (aoe_index_hits *)(void *)((char *)hits + i * hits->struct_size);
}

/* Searches for one query and stores the result in the caller's struct. */
static int store_query(search *s, aoe_text query, size_t in_block, aoe_index_hits *given) {
    static const aoei_dense none;
    aoe_index_hits full = {.struct_size = sizeof full};
    const float *vector = s->is_dense ? s->vectors + in_block * s->index->settings.dims : NULL;
    const int code = search_query(s, query, s->is_dense ? &s->dense[in_block] : &none, vector, &full);
    if (!code)
        aoei_struct_write(given, &full, &aoei_layout_aoe_index_hits);
    return code;
}

static void clear_hits(const search *s) {
    for (size_t i = 0; i < s->n; i++)
        aoe_index_hits_free(element(s->hits, i));
}

/* An aoei_read_fn. */
static int search_all(void *user, aoei_reader *r, aoe_error *err) {
    const search *given = user;
    search s = *given;
    s.reader = r;
    s.err = err;
    clear_hits(&s);
    int code = prepare(&s);
    for (size_t i = 0; !code && i < s.n; i += BLOCK) {
        const size_t count = s.n - i < BLOCK ? s.n - i : BLOCK;
        if (s.is_dense)
            code = search_block(&s, s.query + i, count);
        for (size_t q = 0; !code && q < count; q++)
            code = store_query(&s, s.query[i + q], q, element(s.hits, i + q));
        free_block(&s, count);
    }
    finish(&s);
    return code;
}

int aoe_index_search_many(aoe_index *index, const aoe_text *queries, size_t n, const aoe_index_search_options *o,
                          aoe_index_hits *hits, aoe_error *err) {
    AOEI_CHECK(err, index, queries, hits);
    AOEI_OPTIONS(aoe_index_search_options, o, err);
    aoe_index_hits empty = {.struct_size = sizeof empty};
    for (size_t i = 0; i < n; i++) {
        const int code = aoei_struct_check(element(hits, i), &aoei_layout_aoe_index_hits, __func__, err);
        if (code)
            return code;
        aoei_struct_write(element(hits, i), &empty, &aoei_layout_aoe_index_hits);
    }
    int code = aoei_search_check_options(o, err);
    for (size_t i = 0; !code && i < n; i++)
        code = aoei_search_check_query(queries[i], i, n, err);
    if (code || n == 0)
        return code;
    search s = {.index = index, .o = o, .query = queries, .n = n, .hits = hits};
    code = aoei_reader_run(index, 0, search_all, &s, err);
    if (code)
        clear_hits(&s);
    return code;
}

int aoe_index_search(aoe_index *index, aoe_text query, const aoe_index_search_options *o, aoe_index_hits *hits,
                     aoe_error *err) {
    AOEI_CHECK(err, index, hits);
    return aoe_index_search_many(index, &query, 1, o, hits, err);
}

int aoe_index_preload(aoe_index *index, aoe_error *err) {
    AOEI_CHECK(err, index);
    aoei_reader *r;
    const aoei_lengths *lengths;
    int code = aoei_reader_begin(&r, index, err);
    if (code)
        return code;
    int changed;
    code = aoei_reader_finish(r, aoei_view_lengths(r->view, &r->db, &lengths, err), &changed, err);
    return changed ? 0 : code; /* the next search reads the new commit */
}
