/* SPDX-License-Identifier: MIT
 * Exact nearest-neighbor search. The scores of a block of queries and a block of texts are computed by one matmul, or
 * one by one if they are distances. Then the row of scores of each query is scanned. A heap contains the k best texts
 * of the query that have been found up to now. The root of the heap is the worst of these texts. Texts are scanned in
 * ascending order, so a text replaces the root only if its score is higher than the score of the root.
 */
#include "vectors/nearest.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/error.h"

#include "nn/linear.h"
#include "nn/pooling.h"
#include "vectors/similarity.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Number of queries and number of texts per block. A block of scores has 4 MB. Because of the large number of queries,
 * packing the texts takes little time compared with the matmul. */
enum { QUERIES = 1024, TEXTS = 1024 };
enum { ROWS = 16 /* queries per task */, LANES = 16 /* scores compared at a time */ };

/* A block of scores that is being scanned. */
typedef struct scan {
    const aoei_nearest_job *j;
    aoei_neighbor *best;            /* [rows, k] heap of each query of the block */
    aoei_tensor scores;             /* [rows, texts] scores of the queries and texts of the block */
    size_t first_query, first_text; /* index of the first query of the block; index of the first text of the block */
} scan;

/* A block whose scores are distances. */
typedef struct distances {
    aoe_similarity_function similarity;
    aoei_tensor queries, texts, scores; /* queries [Q, D], texts [N, D], scores [Q, N] */
} distances;

/* Returns 1 if any of score[LANES] is above `limit`. */
static int any_above(const float *score, float limit) {
    int any = 0;
    for (size_t i = 0; i < LANES; i++)
        any |= score[i] > limit;
    return any;
}

/* Inserts the texts of the block into the heap of the query in row `row`. */
static void scan_row(const scan *s, size_t row) {
    const aoei_nearest_job *j = s->j;
    const float *score = aoei_tensor_at(s->scores, row, 0);
    aoei_neighbor *heap = s->best + row * j->k;
    for (size_t begin = 0; begin < s->scores.cols; begin += LANES) {
        const size_t end = s->scores.cols - begin < LANES ? s->scores.cols : begin + LANES;
        if (end - begin == LANES && !any_above(score + begin, heap->score))
            continue;
        for (size_t i = begin; i < end; i++) {
            const uint32_t text = (uint32_t)(s->first_text + i);
            if (score[i] > heap->score && !(j->skip && j->skip(j->user, s->first_query + row, text)))
                aoei_best_add(heap, j->k, (aoei_neighbor){score[i], text}, NULL, NULL);
        }
    }
}

/* Computes the distances of ROWS queries of the block. */
static void distance_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const distances *d = arg;
    const size_t first = task * ROWS, end = d->queries.rows - first < ROWS ? d->queries.rows : first + ROWS;
    for (size_t row = first; row < end; row++)
        for (size_t text = 0; text < d->texts.rows; text++)
            *(float *)aoei_tensor_at(d->scores, row, text) = (float)aoei_similarity_value(
                d->similarity, aoei_tensor_at(d->queries, row, 0), aoei_tensor_at(d->texts, text, 0), d->texts.cols);
}

/* Computes the scores of a block. workspace: at least aoei_linear_workspace bytes. */
static void compute_scores(const aoe_context *ctx, aoe_similarity_function similarity, aoei_tensor queries,
                           aoei_tensor texts, aoei_tensor scores, aoei_tensor workspace) {
    if (similarity == AOE_SIMILARITY_COSINE || similarity == AOE_SIMILARITY_DOT) {
        const aoei_linear_epilogue e = {.workspace = workspace};
        aoei_linear_forward(ctx, scores, queries, texts, (aoei_tensor){0}, &e);
    } else {
        distances d = {similarity, queries, texts, scores};
        aoei_parallel_for(ctx->pool, (queries.rows + ROWS - 1) / ROWS, distance_task, &d);
    }
}

/* Scans the scores of ROWS queries of the block. */
static void scan_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const scan *s = arg;
    const size_t first = task * ROWS, end = s->scores.rows - first < ROWS ? s->scores.rows : first + ROWS;
    for (size_t row = first; row < end; row++)
        scan_row(s, row);
}

void aoei_nearest(const aoe_context *ctx, const aoei_nearest_job *j, aoei_neighbor *best) {
    const size_t Q = j->queries.rows, N = j->texts.rows;
    assert(j->queries.cols == j->texts.cols && N < AOEI_NO_TEXT);
    aoei_best_clear(best, Q * j->k);
    for (size_t q = 0; q < Q && j->k; q += QUERIES) {
        const aoei_tensor queries = aoei_tensor_rows(j->queries, q, Q - q < QUERIES ? Q - q : QUERIES);
        for (size_t t = 0; t < N; t += TEXTS) {
            const aoei_tensor texts = aoei_tensor_rows(j->texts, t, N - t < TEXTS ? N - t : TEXTS);
            const size_t n_scores = queries.rows * texts.rows;
            scan s = {.j = j, .best = best + q * j->k, .first_query = q, .first_text = t};
            s.scores = aoei_tensor_slice(j->workspace, 0, queries.rows, texts.rows);
            const size_t used = (n_scores + 15) / 16 * 16;
            compute_scores(ctx, j->similarity, queries, texts, s.scores,
                           aoei_tensor_slice(j->workspace, used, 1, j->workspace.cols - used));
            aoei_parallel_for(ctx->pool, (queries.rows + ROWS - 1) / ROWS, scan_task, &s);
        }
    }
    for (size_t q = 0; q < Q; q++)
        aoei_best_sort(best + q * j->k, j->k, NULL, NULL);
}

size_t aoei_nearest_workspace(const aoe_context *ctx, size_t Q, size_t N, size_t D) {
    const size_t queries = Q < QUERIES ? Q : QUERIES, texts = N < TEXTS ? N : TEXTS;
    return (queries * texts + 15) / 16 * 16 * sizeof(float) + aoei_linear_workspace(ctx, AOEI_F32, 1, texts, D);
}

int aoei_unit_rows(const aoe_context *ctx, aoei_tensor to, const float *from, const char *function, const char *what,
                   aoe_error *err) {
    for (size_t i = 0; i < to.rows; i++) {
        float *row = aoei_tensor_at(to, i, 0);
        memcpy(row, from + i * to.cols, to.cols * sizeof *row);
        for (size_t d = 0; d < to.cols; d++)
            if (!isfinite(row[d]))
                return aoei_fail(err, AOE_ENUMERIC,
                                 "%s: component %zu of row %zu of %s is not finite; pass finite vectors", function, d,
                                 i, what);
    }
    aoei_l2_normalize(ctx, to);
    return 0;
}

/* ------------------------------------------------------------- public API */

typedef struct search {
    aoei_arena arena;           /* memory of all tensors and of `best`; owned */
    aoei_tensor queries, texts; /* unit vectors: queries [Q, D] and texts [N, D] */
    aoei_tensor workspace;      /* workspace of aoei_nearest */
    aoei_neighbor *best;        /* [Q, k] results */
} search;

/* Allocates all arrays of *s in the arena s->arena. */
static void lay_out(search *s, const aoe_context *ctx, size_t Q, size_t N, size_t D, size_t k) {
    size_t found = 0;
    s->arena.overflow |= aoei_mul_size(Q, k, &found);
    s->queries = aoei_tensor_take(&s->arena, Q, D);
    s->texts = aoei_tensor_take(&s->arena, N, D);
    s->best = aoei_arena_take_array(&s->arena, found, sizeof *s->best);
    s->workspace = aoei_workspace_take(&s->arena, aoei_nearest_workspace(ctx, Q, N, D));
}

int aoe_nearest(aoe_context *ctx, const float *queries, size_t n_queries, const float *vectors, size_t n, size_t dims,
                size_t k, aoe_neighbor *neighbors, aoe_error *err) {
    AOEI_CHECK(err, ctx);
    if (n_queries)
        AOEI_CHECK(err, queries);
    if (n)
        AOEI_CHECK(err, vectors);
    if (n_queries && k)
        AOEI_CHECK(err, neighbors);
    if (!dims || n >= AOEI_NO_TEXT)
        return aoei_fail(err, AOE_EARG, "aoe_nearest: dims must be at least 1 and n less than %u",
                         (unsigned)AOEI_NO_TEXT);
    if (!n_queries || !k)
        return 0;
    search s = {0};
    const size_t most = n < k ? n : k;
    aoei_arena_measure(&s.arena);
    lay_out(&s, ctx, n_queries, n, dims, most);
    if (s.arena.overflow)
        return aoei_fail_nomem(err, SIZE_MAX);
    const size_t bytes = s.arena.used;
    int code = aoei_arena_create(&s.arena, bytes, err);
    if (code)
        return code;
    lay_out(&s, ctx, n_queries, n, dims, most);
    code = aoei_unit_rows(ctx, s.queries, queries, "aoe_nearest", "queries", err);
    if (!code)
        code = aoei_unit_rows(ctx, s.texts, vectors, "aoe_nearest", "vectors", err);
    if (!code)
        aoei_nearest(ctx,
                     &(aoei_nearest_job){.queries = s.queries, .texts = s.texts, .k = most, .workspace = s.workspace},
                     s.best);
    for (size_t i = 0; i < n_queries * k && !code; i++) {
        const aoei_neighbor *b = i % k < most ? &s.best[i / k * most + i % k] : NULL;
        neighbors[i] = b ? (aoe_neighbor){b->text, (double)b->score} : (aoe_neighbor){SIZE_MAX, (double)NAN};
    }
    aoei_arena_destroy(&s.arena);
    return code;
}
