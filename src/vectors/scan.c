/* SPDX-License-Identifier: MIT
 * The loops of the exact and of the fast scan. Tasks divide the rows. Each worker collects candidates of each query:
 * the fast scan those with the highest approximate scores, and the exact scan all rows whose upper bound reaches the
 * k-th best lower bound that the worker has found. Afterwards, the candidates of all workers are joined, and
 * aoei_scan_query_best computes the scores of those that remain. The candidates may depend on the division into tasks,
 * but the result does not.
 *
 * Few queries are multiplied with blocks of 64 rows by the kernels codes_dots and signs_dots. Many queries are a matrix
 * product, which the int8 matmul computes from blocks of 256 rows. Both compute the same integers.
 */
#include "vectors/scan.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "kernels/kernel_table.h"
#include "vectors/codes.h"
#include "vectors/scan_query.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    WORD = 64,          /* rows per word of the bitmap, and per call of a kernel for one query */
    FEW = 16,           /* if fewer rows of a word are allowed, the kernel computes them one by one */
    TASK_ROWS = 4096,   /* rows per task */
    MATRIX_ROWS = 256,  /* rows per matmul */
    MATRIX_QUERIES = 8, /* the least number of queries for which a matmul is faster */
    QUERIES = 1024,     /* most queries that are scanned at the same time */
    LANES = 16          /* scores compared at a time */
};
#define MOST_KEPT                                                                                                      \
    ((size_t)1 << 23) /* most elements of the arrays `best` of all workers, if there are several queries */

typedef struct candidate {
    float most; /* upper bound of the approximate score */
    uint32_t row;
} candidate;

/* What a worker has found for one query. */
typedef struct found {
    float least;         /* a row with a lower approximate score, or a lower upper bound, is not a candidate */
    aoei_neighbor *best; /* exact scan: [keep] heap of the highest lower bounds. Fast scan: [2 keep] array of the rows
                            with the highest scores, of which n are in use. Borrowed */
    candidate *list;     /* [capacity] exact scan: the candidates, of which n are in use; owned */
    size_t n, capacity;
} found;

typedef struct worker {
    found *found;        /* [Q] */
    float *scores;       /* [MATRIX_ROWS, Q] results of a matmul */
    float *limit;        /* [Q] scores of a block that are below cannot be those of candidates */
    float *scratch;      /* [AOEI_GEMM_SCRATCH] */
    unsigned char *rows; /* [MATRIX_ROWS, K] operand of a matmul */
    float *scale;        /* [MATRIX_ROWS] scales of the rows of the block */
    float *error;        /* [MATRIX_ROWS] bounds of the residuals of the rows */
    uint32_t *row;       /* [MATRIX_ROWS] indices of the rows */
    int failed;          /* 1: out of memory */
} worker;

typedef struct job {
    const aoei_scan *s;
    const aoei_kernels *kernels;
    aoei_order_fn order;
    void *user;
    size_t Q, keep;           /* number of queries; number of lower bounds or of candidates to keep */
    int fast;                 /* 1: fast scan */
    size_t K, padded, stride; /* codes per row with padding; codes per query with padding; bytes per row */
    aoei_scan_query *query;   /* [Q] */
    int8_t *codes;            /* [Q, padded] codes of the queries */
    float *scale;             /* [Q] scales of the queries; 1 in the fast scan */
    void *packed;             /* packed codes of the queries; NULL: no matmul */
    size_t threads, packed_size;
    worker *worker;      /* [threads] */
    size_t k;            /* neighbors per query, at least 1 */
    aoei_neighbor *best; /* [Q, best_row] results; only k of a row are set */
    size_t best_row;
} job;

/* ------------------------------------------------------------- candidates */

/* Removes the candidates whose upper bound is below `least`. */
static void remove_below(found *f, float least) {
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        if (f->list[i].most >= least)
            f->list[n++] = f->list[i];
    f->n = n;
}

/* Adds a row to the candidates of the exact scan. `score` is approximate; `margin` bounds its error. */
static void add_bounds(found *f, size_t keep, uint32_t row, float score, float margin, int *failed) {
    aoei_best_add(f->best, keep, (aoei_neighbor){score - margin, row}, NULL, NULL);
    f->least = f->best->score;
    if (f->n == f->capacity) {
        remove_below(f, f->least);
        /* A list that stays almost full would be searched too often. */
        if (f->n >= f->capacity / 2 && aoei_grow((void **)&f->list, &f->capacity, f->capacity, sizeof *f->list)) {
            *failed = 1;
            return;
        }
    }
    f->list[f->n++] = (candidate){score + margin, row};
}

/* Adds a row to the candidates of the fast scan. If the array is full, only the best `keep` rows remain. */
static void add_row(const job *j, found *f, aoei_neighbor x) {
    f->best[f->n++] = x;
    if (f->n < 2 * j->keep)
        return;
    aoei_best_select(f->best, f->n, j->keep, j->order, j->user);
    f->n = j->keep;
    f->least = INFINITY;
    for (size_t i = 0; i < f->n; i++)
        f->least = f->best[i].score < f->least ? f->best[i].score : f->least;
}

static inline float error_of(const job *j, const unsigned char *codes) {
    return j->s->type == AOEI_I8 ? 0 : aoei_codes_error(codes, j->K);
}

/* Examines one row for query q. `score` is approximate; `error` bounds the residual of the row. */
static inline void examine(const job *j, worker *w, size_t q, uint32_t row, float score, float error) {
    found *f = &w->found[q];
    const float margin = j->query[q].reach * error + j->query[q].slack;
    if (!j->fast && score + margin >= f->least)
        add_bounds(f, j->keep, row, score, margin, &w->failed);
    else if (j->fast && score >= f->least)
        add_row(j, f, (aoei_neighbor){score, row});
}

/* ------------------------------------------------------------ few queries */

/* Returns the allowed rows among the rows from `first`, a multiple of WORD, to `end`, as a word of the bitmap. */
static uint64_t allowed_word(const aoei_scan *s, size_t first, size_t end) {
    const uint64_t word = s->allowed ? s->allowed[first / WORD] : UINT64_MAX;
    return end - first < WORD ? word & (((uint64_t)1 << (end - first)) - 1) : word;
}

static int is_sparse(uint64_t word) {
    int n = 0;
    for (; word && n < FEW; word &= word - 1)
        n++;
    return n < FEW;
}

/* Examines the rows of a word by their products with the codes of query q. */
static void examine_codes(const job *j, worker *w, size_t q, size_t first, size_t rows, uint64_t word,
                          const int32_t *dot) {
    const unsigned char *row = j->s->codes + first * j->stride;
    const float scale = j->query[q].scale;
    for (size_t r = 0; r < rows; r++, row += j->stride)
        if (word >> r & 1)
            examine(j, w, q, (uint32_t)(first + r), (float)dot[r] * (scale * aoei_codes_scale(row, j->K)),
                    error_of(j, row));
}

/* Returns 1 if any of dot[WORD] is at least `limit`. */
static int any_at_least(const int32_t *dot, int32_t limit) {
    int any = 0;
    for (size_t r = 0; r < WORD; r++)
        any |= dot[r] >= limit;
    return any;
}

/* Examines the rows of a word by their products of the signs and query q. Most words contain no candidate. */
static void examine_signs(const job *j, worker *w, size_t q, size_t first, size_t rows, uint64_t word,
                          const int32_t *dot) {
    const float least = w->found[q].least;
    const int32_t limit = least > (float)INT32_MIN ? (int32_t)least : INT32_MIN; /* sums are exact in float */
    if (rows == WORD && word == UINT64_MAX && !any_at_least(dot, limit))
        return;
    for (size_t r = 0; r < rows; r++)
        if (word >> r & 1 && dot[r] >= limit)
            examine(j, w, q, (uint32_t)(first + r), (float)dot[r], 0);
}

/* Computes the dot products of query q and the `rows` rows from `first`, and examines the rows whose bits are set in
 * `word`. */
static void scan_word(const job *j, worker *w, size_t q, size_t first, size_t rows, uint64_t word) {
    const size_t stride = j->stride, K = j->fast ? j->padded : j->K;
    const unsigned char *row = (j->fast ? j->s->signs : j->s->codes) + first * stride;
    aoei_codes_dots_fn *dots = j->fast ? j->kernels->signs_dots : j->kernels->codes_dots;
    int32_t dot[WORD];
    if (is_sparse(word)) {
        for (size_t r = 0; r < rows; r++)
            if (word >> r & 1)
                dots(dot + r, j->query[q].codes, row + r * stride, stride, 1, K);
    } else {
        dots(dot, j->query[q].codes, row, stride, rows, K);
    }
    if (j->fast)
        examine_signs(j, w, q, first, rows, word, dot);
    else
        examine_codes(j, w, q, first, rows, word, dot);
}

static void scan_task(void *arg, size_t task, size_t index) {
    job *j = arg;
    const size_t first = task * TASK_ROWS, end = j->s->n - first < TASK_ROWS ? j->s->n : first + TASK_ROWS;
    for (size_t r = first; r < end; r += WORD) {
        const uint64_t word = allowed_word(j->s, r, end);
        for (size_t q = 0; q < j->Q && word; q++)
            scan_word(j, &j->worker[index], q, r, end - r < WORD ? end - r : WORD, word);
    }
}

/* ----------------------------------------------------------- many queries */

/* Writes each of K signs as a byte, 0 or 1. 8 bytes of a block contain the same bit of 8 adjacent components (codes.h).
 */
static void spread_signs(unsigned char *to, const unsigned char *signs, size_t K) {
    for (size_t i = 0; i < K; i += 8) {
        uint64_t bytes;
        memcpy(&bytes, signs + i / AOEI_SIGNS_BLOCK * 16 + i % 16, sizeof bytes);
        bytes = bytes >> i % AOEI_SIGNS_BLOCK / 16 & UINT64_C(0x0101010101010101);
        memcpy(to + i, &bytes, sizeof bytes);
    }
}

/* Writes row r of a block for the matmul: its codes, or 1 for each sign that is set and 0 for the others. */
static void take_row(const job *j, worker *w, size_t r, uint32_t row) {
    const aoei_scan *s = j->s;
    unsigned char *to = w->rows + r * j->K;
    w->row[r] = row;
    w->scale[r] = 1;
    w->error[r] = 0;
    if (j->fast) {
        spread_signs(to, s->signs + row * j->stride, j->K);
        return;
    }
    const unsigned char *codes = s->codes + row * j->stride;
    memcpy(to, codes, j->K);
    w->scale[r] = aoei_codes_scale(codes, j->K);
    w->error[r] = error_of(j, codes);
}

/* Returns 1 if any of score[LANES] reaches its limit. */
static int any_reaches(const float *score, const float *limit) {
    int any = 0;
    for (size_t i = 0; i < LANES; i++)
        any |= score[i] >= limit[i];
    return any;
}

/* Examines all scores of the block that reach the limit of their query. */
static void examine_block(const job *j, worker *w, size_t rows) {
    float error = 0;
    for (size_t r = 0; r < rows; r++)
        error = w->error[r] > error ? w->error[r] : error;
    for (size_t q = 0; q < j->Q; q++) {
        /* Multiplied by 2^-20, the sum of the two magnitudes exceeds the rounding error of the limit. */
        const float least = w->found[q].least, margin = j->query[q].reach * error + j->query[q].slack;
        w->limit[q] = j->fast ? least : least - margin - (fabsf(least) + margin) * 0x1p-20F;
    }
    for (size_t r = 0; r < rows; r++) {
        const float *score = w->scores + r * j->Q;
        for (size_t q = 0; q < j->Q; q += LANES) {
            const size_t end = j->Q - q < LANES ? j->Q : q + LANES;
            if (end - q == LANES && !any_reaches(score + q, w->limit + q))
                continue;
            for (size_t i = q; i < end; i++)
                if (score[i] >= w->limit[i])
                    examine(j, w, i, w->row[r], score[i], w->error[r]);
        }
    }
}

static void scan_block(const job *j, worker *w, size_t rows) {
    const aoei_gemm_args g = {.M = rows,
                              .N = j->Q,
                              .K = j->K,
                              .a = w->rows,
                              .a_row = j->K,
                              .a_col = 1,
                              .packed = j->packed,
                              .c = w->scores,
                              .c_row = j->Q,
                              .a_scale = w->scale,
                              .b_scale = j->scale,
                              .scale = 1};
    j->kernels->gemm_int8(&g, w->scratch);
    examine_block(j, w, rows);
}

static void scan_matrix_task(void *arg, size_t task, size_t index) {
    job *j = arg;
    worker *w = &j->worker[index];
    const size_t first = task * TASK_ROWS, end = j->s->n - first < TASK_ROWS ? j->s->n : first + TASK_ROWS;
    size_t rows = 0;
    for (size_t r = first; r < end; r += WORD) {
        const uint64_t word = allowed_word(j->s, r, end);
        for (size_t i = 0; i < WORD && word; i++) {
            if (!(word >> i & 1))
                continue;
            take_row(j, w, rows++, (uint32_t)(r + i));
            if (rows == MATRIX_ROWS) {
                scan_block(j, w, rows);
                rows = 0;
            }
        }
    }
    if (rows)
        scan_block(j, w, rows);
}

/* ---------------------------------------------------------------- results */

/* Joins the candidates of all workers for query q. *row receives their *n rows; the caller frees it. */
static int join(const job *j, size_t q, uint32_t **row, size_t *n) {
    found *f = &j->worker[0].found[q];
    size_t most = f->n;
    for (size_t t = 1; t < j->threads; t++) {
        const found *other = &j->worker[t].found[q];
        most += other->n;
        for (size_t i = 0; i < other->n && j->fast; i++)
            add_row(j, f, other->best[i]);
        for (size_t i = 0; i < j->keep && !j->fast; i++)
            aoei_best_add(f->best, j->keep, other->best[i], NULL, NULL);
    }
    *n = 0;
    *row = aoei_malloc_array(most ? most : 1, sizeof **row);
    if (!*row)
        return AOE_ENOMEM;
    if (j->fast) {
        aoei_best_select(f->best, f->n, j->keep, j->order, j->user);
        for (; *n < f->n && *n < j->keep; (*n)++)
            (*row)[*n] = f->best[*n].text;
        return 0;
    }
    for (size_t t = 0; t < j->threads; t++) {
        found *other = &j->worker[t].found[q];
        remove_below(other, f->best->score);
        for (size_t i = 0; i < other->n; i++)
            (*row)[(*n)++] = other->list[i].row;
    }
    return 0;
}

static void best_task(void *arg, size_t q, size_t index) {
    job *j = arg;
    uint32_t *row;
    size_t n;
    if (join(j, q, &row, &n) ||
        aoei_scan_query_best(&j->query[q], j->s, row, n, j->k, j->order, j->user, j->best + q * j->best_row))
        j->worker[index].failed = 1;
    aoei_free(row);
}

/* ----------------------------------------------------------------- driver */

/* Allocates the arrays of a job for Q queries in the arena. */
static void lay_out(job *j, aoei_arena *a, size_t Q) {
    const int matrix = Q >= MATRIX_QUERIES;
    size_t kept = 0, scores = 0;
    a->overflow |= aoei_mul_size(Q, j->keep * 2, &kept) || aoei_mul_size(Q, (size_t)MATRIX_ROWS, &scores);
    j->query = aoei_arena_take_array(a, Q, sizeof *j->query);
    j->codes = aoei_arena_take_array(a, Q * j->padded, sizeof *j->codes);
    j->scale = aoei_arena_take_array(a, Q, sizeof *j->scale);
    j->worker = aoei_arena_take_array(a, j->threads, sizeof *j->worker);
    j->packed = matrix ? aoei_arena_take(a, j->kernels->gemm_int8_packed_size(j->K, Q)) : NULL;
    for (size_t t = 0; t < j->threads; t++) {
        worker w = {.found = aoei_arena_take_array(a, Q, sizeof *w.found)};
        aoei_neighbor *best = aoei_arena_take_array(a, kept, sizeof *best);
        if (matrix) {
            w.scores = aoei_arena_take_array(a, scores, sizeof *w.scores);
            w.limit = aoei_arena_take_array(a, Q, sizeof *w.limit);
            w.scratch = aoei_arena_take_array(a, AOEI_GEMM_SCRATCH, sizeof *w.scratch);
            w.rows = aoei_arena_take_array(a, MATRIX_ROWS, j->K);
            w.scale = aoei_arena_take_array(a, MATRIX_ROWS, sizeof *w.scale);
            w.error = aoei_arena_take_array(a, MATRIX_ROWS, sizeof *w.error);
            w.row = aoei_arena_take_array(a, MATRIX_ROWS, sizeof *w.row);
        }
        if (!a->base || a->overflow)
            continue;
        j->worker[t] = w;
        for (size_t q = 0; q < Q; q++) {
            w.found[q] = (found){.least = -INFINITY, .best = best + q * 2 * j->keep};
            aoei_best_clear(w.found[q].best, j->fast ? 0 : j->keep);
        }
    }
}

/* Scans all rows for the queries q[Q, D] of a job, whose arrays are allocated. */
static int scan(const aoe_context *ctx, job *j, const float *q, size_t Q) {
    const size_t tasks = (j->s->n + TASK_ROWS - 1) / TASK_ROWS;
    int failed = 0;
    j->Q = Q;
    for (size_t i = 0; i < Q; i++) {
        aoei_scan_query_prepare(&j->query[i], q + i * j->s->D, j->s->D, j->codes + i * j->padded);
        j->scale[i] = j->fast ? 1 : j->query[i].scale;
    }
    if (j->packed)
        j->kernels->gemm_int8_pack(j->packed, j->codes, AOEI_I8, 1, j->padded, j->K, 0, Q);
    aoei_parallel_for(ctx->pool, tasks, j->packed ? scan_matrix_task : scan_task, j);
    for (size_t t = 0; t < j->threads; t++)
        failed |= j->worker[t].failed;
    if (!failed)
        aoei_parallel_for(ctx->pool, Q, best_task, j);
    for (size_t t = 0; t < j->threads; t++) {
        failed |= j->worker[t].failed;
        for (size_t i = 0; i < Q; i++)
            aoei_free(j->worker[t].found[i].list);
    }
    return failed ? AOE_ENOMEM : 0;
}

/* Runs a job for all queries, in blocks. */
static int run(const aoe_context *ctx, job *j, const float *queries, size_t Q, aoei_neighbor *best, size_t k,
               aoe_error *err) {
    const aoei_scan *s = j->s;
    assert(s->D && s->D <= AOEI_SCAN_MAX_D && s->n < AOEI_NO_TEXT && (s->type == AOEI_I8 || s->values || !s->n));
    for (size_t i = 0; i < Q * s->D; i++)
        if (!isfinite(queries[i]))
            return aoei_fail(err, AOE_ENUMERIC,
                             "component %zu of query %zu is not finite; pass the vector of a text, or finite numbers",
                             i % s->D, i / s->D);
    aoei_best_clear(best, Q * k);
    j->k = k < s->n ? k : s->n;
    j->best_row = k;
    if (!j->k || !Q)
        return 0;
    j->keep = j->fast && j->keep > j->k ? j->keep : j->k;
    j->keep = j->keep < s->n ? j->keep : s->n;
    j->kernels = aoei_kernels_of(ctx);
    j->threads = aoei_pool_threads(ctx->pool);
    j->K = aoei_codes_padded(s->D);
    j->padded = aoei_scan_query_codes(s->D);
    j->stride = j->fast ? aoei_signs_stride(s->D) : aoei_codes_stride(s->D);
    size_t block = MOST_KEPT / j->threads / j->keep / 2;
    block = block > QUERIES ? QUERIES : block ? block : 1;
    int code = 0;
    for (size_t q = 0; q < Q && !code; q += block) {
        const size_t n = Q - q < block ? Q - q : block;
        aoei_arena arena;
        aoei_arena_measure(&arena);
        lay_out(j, &arena, n);
        code = arena.overflow ? aoei_fail_nomem(err, SIZE_MAX) : aoei_arena_create(&arena, arena.used, err);
        if (code)
            break;
        lay_out(j, &arena, n);
        j->best = best + q * k;
        code = scan(ctx, j, queries + q * s->D, n);
        aoei_arena_destroy(&arena);
        if (code)
            aoei_fail_nomem(err, SIZE_MAX);
    }
    return code;
}

int aoei_scan_exact(const aoe_context *ctx, const aoei_scan *s, const float *queries, size_t Q, size_t k,
                    aoei_order_fn order, void *user, aoei_neighbor *best, aoe_error *err) {
    job j = {.s = s, .order = order, .user = user};
    return run(ctx, &j, queries, Q, best, k, err);
}

int aoei_scan_fast(const aoe_context *ctx, const aoei_scan *s, const float *queries, size_t Q, size_t k,
                   size_t candidates, aoei_order_fn order, void *user, aoei_neighbor *best, aoe_error *err) {
    job j = {.s = s, .order = order, .user = user, .fast = 1, .keep = candidates};
    assert(s->signs || !s->n);
    return run(ctx, &j, queries, Q, best, k, err);
}
