/* SPDX-License-Identifier: MIT
 * The loss of in-batch negatives; ibn.h describes it. The first pass over the scores computes the log-sum-exp of each
 * row, and the second pass computes the gradient. The scores are S_uv = <z_u, z_v> / tau; p_uv is the softmax of row u
 * over all v except u. The targets T_uv are 0, 1 or 2 and symmetric; n_u is sum_v T_uv. Then:
 *     N L       = sum_u (n_u log_sum_u - sum_v T_uv S_uv)
 *     N dL/dz_u = sum_v (n_u p_uv + n_v p_vu - 2 T_uv) z_v / tau
 * The scores and the factors of z_v are symmetric in u and v, so only the blocks (I, J) with J <= I are computed. A
 * strip consists of as many block columns as fit in the score buffer. The blocks of a strip are computed in parallel.
 * Then one task for each block row X reads the blocks (X, J) by rows and the blocks (I, X) by columns. The order in
 * which strips and blocks are added to a row depends only on N, so the result does not depend on the number of threads.
 */
#include "loss/ibn.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sort.h"

enum {
    P = AOEI_PANEL_F64,
    BLOCK = 4 * P,    /* rows and columns of a block; even, so that the two rows of a pair are in one block */
    GROUP = 8 * P,    /* columns of dz that one task computes */
    STORAGE = 1 << 23 /* number of doubles in the score buffer (64 MB), enough for all scores of about 2,000 pairs. If
                         the first block column does not fit, the buffer has the size of this block column */
};

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t rows_of(const aoei_ibn *b, size_t block) {
    return min_size(b->N - block * BLOCK, BLOCK);
}

/* Returns the number of rows of block column J. It starts at row J * BLOCK, because only blocks on and below the
 * diagonal are stored. */
static size_t height(const aoei_ibn *b, size_t J) {
    return b->N - J * BLOCK;
}

/* Returns the number of doubles that the block columns [from, to) occupy. */
static size_t columns_size(const aoei_ibn *b, size_t from, size_t to) {
    size_t n = to - from;
    return BLOCK * (n * height(b, from) - BLOCK * (n * (n - 1) / 2));
}

/* Returns the memory of block (I, J) of the scores, where J <= I and J is in the current strip. */
static aoei_scores_f64 block_at(const aoei_ibn *b, size_t I, size_t J) {
    return (aoei_scores_f64){.x = b->score + columns_size(b, b->strip_from, J) + (I - J) * BLOCK * P,
                             .panel = height(b, J) * P,
                             .rows = rows_of(b, I),
                             .cols = rows_of(b, J),
                             .scale = 1.0 / b->tau};
}

/* Returns the address of the score in row r and column c of a block. */
static double *cell(const aoei_scores_f64 *s, size_t r, size_t c) {
    return s->x + c / P * s->panel + r * P + c % P;
}

static int has_anchors(const aoei_ibn *b, size_t I, size_t J) {
    return b->anchors[I] || b->anchors[J];
}

/* Returns 1 if row u belongs to a positive pair. The target T_uv is 1 if rows u and v are the two texts of a positive
 * pair, or if their texts are equal. If both conditions are true, T_uv is 2; if neither is true, T_uv is 0. */
static int has_partner(const aoei_ibn *b, size_t u) {
    return b->label[u / 2] >= b->threshold;
}

/* Sorts the rows by text, so that the rows of equal texts are adjacent in `member`. */
static void sort_groups(aoei_ibn *b) {
    double *key = b->sum; /* used as a buffer here; the sums are computed later, in the first pass */
    for (size_t u = 0; u < b->N; u++)
        key[u] = b->group[u];
    aoei_argsort(key, b->N, b->member, b->begin);
    for (size_t from = 0, to; from < b->N; from = to) {
        for (to = from + 1; to < b->N && b->group[b->member[to]] == b->group[b->member[from]];)
            to++;
        for (size_t i = from; i < to; i++) {
            b->begin[b->member[i]] = from;
            b->end[b->member[i]] = to;
        }
    }
}

static void count_targets(aoei_ibn *b) {
    if (b->group)
        sort_groups(b);
    memset(b->anchors, 0, b->blocks);
    for (size_t u = 0; u < b->N; u++) {
        size_t duplicates = b->group ? b->end[u] - b->begin[u] - 1 : 0;
        b->targets[u] = (double)(duplicates + (size_t)has_partner(b, u));
        b->weight[u] = b->targets[u] / ((double)b->N * b->tau);
        b->anchors[u / BLOCK] |= b->targets[u] > 0.0;
        b->max[u] = -INFINITY;
        b->sum[u] = b->row_loss[u] = 0.0;
    }
}

/* Returns the index in `member` of the first row whose text is equal to the text of row u and whose row index is at
 * least v. Returns end[u] if there is no such row. */
static size_t first_member(const aoei_ibn *b, size_t u, size_t v) {
    size_t low = b->begin[u], high = b->end[u];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->member[middle] < v)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sets the current strip to strip `strip`, counted from 0. Returns 0 if there is no such strip. */
static int select_strip(aoei_ibn *b, size_t strip) {
    b->strip_to = 0;
    for (size_t i = 0; i <= strip; i++) {
        if (b->strip_to == b->blocks)
            return 0;
        b->strip_from = b->strip_to;
        while (b->strip_to < b->blocks && columns_size(b, b->strip_from, b->strip_to + 1) <= b->score_size)
            b->strip_to++;
    }
    return 1;
}

static size_t count_strip_blocks(const aoei_ibn *b) {
    size_t n = 0;
    for (size_t J = b->strip_from; J < b->strip_to; J++)
        n += b->blocks - J;
    return n;
}

/* Sets *I and *J to the block row and the block column of block `task` of the strip. Blocks are numbered column by
 * column, so that consecutive tasks read the same z_J. */
static void find_block(const aoei_ibn *b, size_t task, size_t *I, size_t *J) {
    for (*J = b->strip_from; task >= b->blocks - *J; ++*J)
        task -= b->blocks - *J;
    *I = *J + task;
}

/* Computes the cosines of block (I, J). The cosine of a row with itself is set to -infinity, so that the softmax
 * ignores it. */
static void compute_scores(const aoei_ibn *b, size_t I, size_t J) {
    const size_t D = b->rows.D;
    aoei_scores_f64 s = block_at(b, I, J);
    aoei_panels_gemm(b->ctx, &(aoei_gemm_f64){.M = s.rows,
                                              .N = s.cols,
                                              .K = D,
                                              .a = b->rows.zt + I * BLOCK * D,
                                              .a_panel = D * P,
                                              .transposed = 1,
                                              .b = b->rows.zt + J * BLOCK * D,
                                              .b_panel = D * P,
                                              .c = s.x,
                                              .c_panel = s.panel});
    for (size_t r = 0; I == J && r < s.rows; r++)
        *cell(&s, r, r) = -INFINITY;
}

static void score_task(void *arg, size_t task, size_t worker) {
    const aoei_ibn *b = arg;
    size_t I, J;
    (void)worker;
    find_block(b, task, &I, &J);
    if (has_anchors(b, I, J))
        compute_scores(b, I, J);
}

/* Returns S_uv if its block is in the current strip, otherwise 0. */
static double score_of(const aoei_ibn *b, size_t u, size_t v) {
    size_t row = u / BLOCK >= v / BLOCK ? u : v, column = row == u ? v : u, J = column / BLOCK;
    if (J < b->strip_from || J >= b->strip_to)
        return 0.0;
    aoei_scores_f64 s = block_at(b, row / BLOCK, J);
    return *cell(&s, row % BLOCK, column % BLOCK) * s.scale;
}

/* Returns the sum of T_uv S_uv over the columns v whose scores are in the current strip. */
static double sum_targets(const aoei_ibn *b, size_t u) {
    double sum_of_targets = has_partner(b, u) ? score_of(b, u, u ^ 1) : 0.0;
    for (size_t i = b->group ? b->begin[u] : 0; b->group && i < b->end[u]; i++)
        sum_of_targets += b->member[i] == u ? 0.0 : score_of(b, u, b->member[i]);
    return sum_of_targets;
}

/* First pass: updates max, sum and row_loss with the scores of the current strip, for the rows of one block row. */
static void sum_task(void *arg, size_t task, size_t worker) {
    aoei_ibn *b = arg;
    size_t X = b->strip_from + task, u = X * BLOCK, n = rows_of(b, X);
    double max[BLOCK], sum[BLOCK];
    (void)worker;
    if (!b->anchors[X])
        return;
    for (size_t J = b->strip_from; J <= X && J < b->strip_to; J++) {
        aoei_scores_f64 s = block_at(b, X, J);
        aoei_panels_row_sums(b->ctx, &s, max, sum);
        aoei_panels_add_sums(n, max, sum, b->max + u, b->sum + u);
    }
    for (size_t I = X + 1; X < b->strip_to && I < b->blocks; I++) {
        aoei_scores_f64 s = block_at(b, I, X);
        aoei_panels_column_sums(b->ctx, &s, max, sum);
        aoei_panels_add_sums(n, max, sum, b->max + u, b->sum + u);
    }
    for (size_t r = 0; r < n; r++)
        b->row_loss[u + r] -= sum_targets(b, u + r);
}

/* Second pass: replaces the scores S_uv of a block by the factors of z_v in the formula of dL/dz_u (at the start of
 * this file). */
static void weight_task(void *arg, size_t task, size_t worker) {
    const aoei_ibn *b = arg;
    size_t I, J;
    (void)worker;
    find_block(b, task, &I, &J);
    if (!has_anchors(b, I, J))
        return;
    if (b->strip_from > 0) /* the buffer still contains the scores of the first strip, from the first pass */
        compute_scores(b, I, J);
    aoei_scores_f64 s = block_at(b, I, J);
    size_t u0 = I * BLOCK, v0 = J * BLOCK;
    double twice = 2.0 / ((double)b->N * b->tau);
    aoei_panels_score_weights(b->ctx, &s, b->weight + u0, b->log_sum + u0, b->weight + v0, b->log_sum + v0);
    for (size_t r = 0; r < s.rows; r++) {
        size_t u = u0 + r;
        if (I == J && has_partner(b, u))
            *cell(&s, r, r ^ 1) -= twice;
        for (size_t i = b->group ? first_member(b, u, v0) : 0; b->group && i < b->end[u]; i++) {
            size_t v = b->member[i];
            if (v >= v0 + s.cols)
                break;
            if (v != u)
                *cell(&s, r, v - v0) -= twice;
        }
    }
}

/* Second pass: adds the contribution of the current strip to dz, for one block of rows and one group of GROUP
 * columns. */
static void gradient_task(void *arg, size_t task, size_t worker) {
    const aoei_ibn *b = arg;
    size_t groups = (b->rows.D + GROUP - 1) / GROUP, X = b->strip_from + task / groups, d = task % groups * GROUP;
    const double *z = b->rows.z + d * b->N;
    aoei_gemm_f64 g = {
        .M = rows_of(b, X), .N = min_size(b->rows.D - d, GROUP), .b_panel = b->N * P, .c_panel = b->N * P};
    (void)worker;
    g.c = b->rows.dz + d * b->N + X * BLOCK * P;
    g.accumulate = 1;
    for (size_t J = b->strip_from; J < X && J < b->strip_to; J++) {
        aoei_scores_f64 s = block_at(b, X, J);
        g.K = s.cols, g.a = s.x, g.a_panel = s.panel, g.b = z + J * BLOCK * P;
        if (has_anchors(b, X, J))
            aoei_panels_gemm(b->ctx, &g);
    }
    g.transposed = 1;
    for (size_t I = X; X < b->strip_to && I < b->blocks; I++) {
        aoei_scores_f64 s = block_at(b, I, X);
        g.K = s.rows, g.a = s.x, g.a_panel = s.panel, g.b = z + I * BLOCK * P;
        if (has_anchors(b, I, X))
            aoei_panels_gemm(b->ctx, &g);
    }
}

/* Returns the number of doubles in the score buffer. This is the size of all blocks, but at most STORAGE doubles, and
 * at least the size of the first block column. */
static size_t score_capacity(const aoei_ibn *b, aoei_arena *a) {
    size_t first = 0;
    if (aoei_mul_size(b->N, BLOCK, &first))
        a->overflow = 1;
    size_t capacity = first > STORAGE ? first : STORAGE;
    return b->N / 2 >= STORAGE / b->N ? capacity : min_size(columns_size(b, 0, b->blocks), capacity);
}

void aoei_ibn_lay_out(aoei_ibn *b, aoei_arena *a, size_t N, size_t D) {
    *b = (aoei_ibn){.N = N, .blocks = (N + BLOCK - 1) / BLOCK};
    aoei_unit_rows_lay_out(&b->rows, a, N, D);
    double **rows[] = {&b->targets, &b->weight, &b->max, &b->sum, &b->log_sum, &b->row_loss};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i] = aoei_arena_take_array(a, N, sizeof(double));
    b->member = aoei_arena_take_array(a, N, sizeof(size_t));
    b->begin = aoei_arena_take_array(a, N, sizeof(size_t));
    b->end = aoei_arena_take_array(a, N, sizeof(size_t));
    b->anchors = aoei_arena_take(a, b->blocks);
    b->score_size = score_capacity(b, a);
    b->score = aoei_arena_take_array(a, b->score_size, sizeof(double));
}

double aoei_ibn_loss(aoei_ibn *b, int with_grad) {
    size_t strips = 0, groups = (b->rows.D + GROUP - 1) / GROUP;
    count_targets(b);
    while (select_strip(b, strips))
        strips++;
    for (size_t i = strips; i-- > 0;) { /* the first pass visits the strips in reverse order, so that the buffer
                                           contains the scores of the first strip when the second pass starts */
        select_strip(b, i);
        aoei_parallel_for(b->ctx->pool, count_strip_blocks(b), score_task, b);
        aoei_parallel_for(b->ctx->pool, b->blocks - b->strip_from, sum_task, b);
    }
    double loss = 0.0;
    for (size_t u = 0; u < b->N; u++) {
        b->log_sum[u] = INFINITY;
        if (b->targets[u] > 0.0) {
            b->log_sum[u] = b->max[u] + log(b->sum[u]);
            loss += b->targets[u] * b->log_sum[u] + b->row_loss[u];
        }
    }
    for (size_t i = 0; with_grad && i < strips; i++) {
        select_strip(b, i);
        aoei_parallel_for(b->ctx->pool, count_strip_blocks(b), weight_task, b);
        aoei_parallel_for(b->ctx->pool, (b->blocks - b->strip_from) * groups, gradient_task, b);
    }
    return loss / (double)b->N;
}
