/* SPDX-License-Identifier: MIT
 * Finds similar pairs of vectors. The scores of a block of rows and a block of later rows are computed by one matmul in
 * float32. A pair is a candidate if its score is not below the threshold by more than the rounding error of the matmul.
 * The cosine of each candidate is then computed in double, and decides.
 * Candidates of a block of rows are collected before they are reported in order. If they exceed MAX_CANDIDATES, the
 * block is searched again with half the rows. A single row has at most n candidates.
 */
#include "vectors/similar_pairs.h"

#include <assert.h>
#include <float.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "nn/linear.h"
#include "vectors/nearest.h"

enum { BLOCK = 1024 /* rows per block */, ROWS = 16 /* rows per task */, PAIRS = 256 /* pairs per task */ };
enum { MAX_CANDIDATES = 1 << 22 };

typedef struct finder {
    const aoe_context *ctx;
    const float *vectors;    /* [n, dims] borrowed */
    size_t n, dims;          /* number of vectors; components of a vector */
    float threshold;         /* lowest cosine of a pair */
    float least;             /* lowest score of a candidate */
    aoei_arena arena;        /* memory of the tensors; owned */
    aoei_tensor unit;        /* [n, dims] unit vectors */
    aoei_tensor workspace;   /* scores of a block, and workspace of the matmul */
    aoei_tensor scores;      /* [rows, texts] scores of the current block */
    size_t row, text;        /* first row and first text (column) of the current block */
    size_t at[BLOCK + 1];    /* number of candidates of each row of the block; then the index in `pair` of its first
                                candidate */
    aoei_similar_pair *pair; /* [n_pairs] candidates of the current rows; owned */
    size_t n_pairs, capacity;
} finder;

/* Sets *score to the scores of row `i` of the block. Returns the column of the first text after the row. */
static size_t later_texts(const finder *f, size_t i, const float **score) {
    const size_t row = f->row + i;
    *score = aoei_tensor_at(f->scores, i, 0);
    return f->text > row ? 0 : row + 1 - f->text;
}

static void count_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    finder *f = arg;
    const size_t first = task * ROWS, end = f->scores.rows - first < ROWS ? f->scores.rows : first + ROWS;
    for (size_t i = first; i < end; i++) {
        const float *score;
        size_t n = 0;
        for (size_t k = later_texts(f, i, &score); k < f->scores.cols; k++)
            n += score[k] >= f->least;
        f->at[i] = n;
    }
}

static void collect_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    finder *f = arg;
    const size_t first = task * ROWS, end = f->scores.rows - first < ROWS ? f->scores.rows : first + ROWS;
    for (size_t i = first; i < end; i++) {
        const float *score;
        aoei_similar_pair *pair = f->pair + f->at[i], *stop = f->pair + f->at[i + 1];
        for (size_t k = later_texts(f, i, &score); pair < stop; k++)
            if (score[k] >= f->least)
                *pair++ = (aoei_similar_pair){(uint32_t)(f->row + i), (uint32_t)(f->text + k), score[k]};
    }
}

/* Computes the exact scores of PAIRS candidates. */
static void score_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    finder *f = arg;
    const size_t first = task * PAIRS, end = f->n_pairs - first < PAIRS ? f->n_pairs : first + PAIRS;
    for (size_t i = first; i < end; i++) {
        aoei_similar_pair *p = &f->pair[i];
        p->score = (float)aoe_cosine(f->vectors + p->first * f->dims, f->vectors + p->second * f->dims, f->dims);
    }
}

/* Computes the scores of a block, and appends its candidates. Sets *full to 1 instead if there are too many. */
static int search_block(finder *f, size_t rows, size_t texts, int *full, aoe_error *err) {
    const size_t n_scores = (rows * texts + 15) / 16 * 16, tasks = (rows + ROWS - 1) / ROWS;
    f->scores = aoei_tensor_slice(f->workspace, 0, rows, texts);
    const aoei_linear_epilogue e = {.workspace =
                                        aoei_tensor_slice(f->workspace, n_scores, 1, f->workspace.cols - n_scores)};
    aoei_linear_forward(f->ctx, f->scores, aoei_tensor_rows(f->unit, f->row, rows),
                        aoei_tensor_rows(f->unit, f->text, texts), (aoei_tensor){0}, &e);
    aoei_parallel_for(f->ctx->pool, tasks, count_task, f);
    size_t end = f->n_pairs;
    for (size_t i = 0; i < rows; i++) {
        const size_t n = f->at[i];
        f->at[i] = end;
        end += n;
    }
    f->at[rows] = end;
    *full = rows > 1 && end > MAX_CANDIDATES;
    if (*full || end == f->n_pairs)
        return 0;
    if (aoei_grow((void **)&f->pair, &f->capacity, end - 1, sizeof *f->pair))
        return aoei_fail_nomem(err, end * sizeof *f->pair);
    aoei_parallel_for(f->ctx->pool, tasks, collect_task, f);
    f->n_pairs = end;
    return 0;
}

static int in_order(const void *a, const void *b) {
    const aoei_similar_pair *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->second > y->second) - (x->second < y->second);
}

/* Finds the pairs of `rows` rows, in order. Sets *full to 1 instead if there are too many candidates. */
static int search_rows(finder *f, size_t rows, int *full, aoe_error *err) {
    size_t kept = 0;
    *full = 0;
    f->n_pairs = 0;
    for (f->text = f->row; f->text < f->n; f->text += BLOCK) {
        const size_t texts = f->n - f->text < BLOCK ? f->n - f->text : BLOCK;
        const int rc = search_block(f, rows, texts, full, err);
        if (rc || *full)
            return rc;
    }
    aoei_parallel_for(f->ctx->pool, (f->n_pairs + PAIRS - 1) / PAIRS, score_task, f);
    for (size_t i = 0; i < f->n_pairs; i++)
        if (f->pair[i].score >= f->threshold)
            f->pair[kept++] = f->pair[i];
    f->n_pairs = kept;
    if (kept)
        qsort(f->pair, kept, sizeof *f->pair, in_order);
    return 0;
}

/* Allocates all tensors in the arena f->arena. */
static void lay_out(finder *f) {
    f->unit = aoei_tensor_take(&f->arena, f->n, f->dims);
    f->workspace = aoei_workspace_take(&f->arena, aoei_nearest_workspace(f->ctx, BLOCK, BLOCK, f->dims));
}

static int search_all(finder *f, aoei_similar_pairs_fn fn, void *user, aoe_error *err) {
    size_t rows = BLOCK;
    int full, rc = 0;
    for (f->row = 0; f->row < f->n && !rc;) {
        const size_t most = f->n - f->row < rows ? f->n - f->row : rows;
        rc = search_rows(f, most, &full, err);
        if (!rc && full) {
            rows = most / 2;
        } else if (!rc) {
            f->row += most;
            rc = fn(user, f->pair, f->n_pairs, f->row, err);
        }
    }
    return rc;
}

int aoei_similar_pairs(const aoe_context *ctx, const float *vectors, size_t n, size_t dims, double threshold,
                       aoei_similar_pairs_fn fn, void *user, aoe_error *err) {
    assert(n < UINT32_MAX);
    /* dims * FLT_EPSILON bounds the rounding errors of the normalization and of the sum of dims products */
    finder f = {.ctx = ctx,
                .vectors = vectors,
                .n = n,
                .dims = dims,
                .threshold = (float)threshold,
                .least = (float)(threshold - ((double)dims + 16) * (double)FLT_EPSILON)};
    aoei_arena_measure(&f.arena);
    lay_out(&f);
    if (f.arena.overflow)
        return aoei_fail_nomem(err, SIZE_MAX);
    const size_t bytes = f.arena.used;
    int rc = aoei_arena_create(&f.arena, bytes, err);
    if (!rc) {
        lay_out(&f);
        rc = aoei_unit_rows(ctx, f.unit, vectors, "aoe_find_similar", "vectors", err);
    }
    if (!rc)
        rc = search_all(&f, fn, user, err);
    aoei_free(f.pair);
    aoei_arena_destroy(&f.arena);
    return rc;
}
