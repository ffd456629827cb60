/* SPDX-License-Identifier: MIT
 * The InfoNCE loss. It is computed for one strip, which is a range of examples, at a time. In a block with the anchors
 * a_i and the candidates t_j, the scores are S_ij = <a_i, t_j> / tau. p_ij is the softmax of row i over the candidates
 * of all blocks. The target T_ij is 1 if j = i in the first block, otherwise 0. Then:
 *     B L       = sum_i (log sum_j exp(S_ij) - S_ii)       (sum over the candidates of all blocks; S_ii: first block)
 *     B dL/da_i = sum_j (p_ij - T_ij) t_j / tau            (for each block)
 *     B dL/dt_j = sum_i (p_ij - T_ij) a_i / tau            (for each block)
 * Before the softmax, `hard_negative` is added to the score of example i with each of its own negatives, which are the
 * candidates B + i, 2B + i, ... of the first block, and the score of every candidate that is excluded is set to
 * LEFT_OUT. A strip contains complete rows of scores. The factors (p_ij - T_ij), which both gradients contain,
 * therefore overwrite the scores. All sums are accumulated in a fixed order, so the result depends neither on the
 * number of threads nor on the size of the strips.
 */
#include "loss/info_nce.h"

#include <assert.h>
#include <math.h>

#include "base/alloc.h"

enum {
    P = AOEI_PANEL_F64,
    BLOCK = 4 * P,    /* number of rows, and number of columns, in a tile of scores */
    GROUP = 8 * P,    /* columns of dz that one task computes */
    STORAGE = 1 << 23 /* number of doubles in the score buffer (64 MB), enough for 2,900 examples and 2,900 candidates.
                         If the scores of a single row of tiles do not fit, the buffer has the size of these scores */
};
/* Cosine of a candidate that is excluded. exp(LEFT_OUT / tau - s) is 0 for every score s of a candidate that is not
 * excluded.
 */
#define LEFT_OUT (-1e100)

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t divide_up(size_t n, size_t size) {
    return (n + size - 1) / size;
}

/* Returns the tile of the scores of rows [row, row + BLOCK) of the strip with candidates [column, column + BLOCK) of
 * block k. At the end of the strip, and at the end of the candidates, the tile has fewer rows or columns. */
static aoei_scores_f64 tile_at(const aoei_info_nce *c, size_t k, size_t row, size_t column) {
    return (aoei_scores_f64){.x = c->score + (c->start[k] + column) * c->rows + row * P,
                             .panel = c->rows * P,
                             .rows = min_size(c->rows - row, BLOCK),
                             .cols = min_size(c->block[k].M - column, BLOCK),
                             .scale = 1.0 / c->tau};
}

/* Returns the address of element (row, column) of a tile. */
static double *tile_element(const aoei_scores_f64 *s, size_t row, size_t column) {
    return s->x + column / P * s->panel + row * P + column % P;
}

/* Computes the cosines of rows [row, row + s->rows) of `a` and rows [column, column + s->cols) of `b`. */
static void cosines(const aoe_context *ctx, const aoei_scores_f64 *s, const aoei_unit_rows *a, size_t row,
                    const aoei_unit_rows *b, size_t column) {
    const size_t D = a->D;
    aoei_panels_gemm(ctx, &(aoei_gemm_f64){.M = s->rows,
                                           .N = s->cols,
                                           .K = D,
                                           .a = a->zt + row * D,
                                           .a_panel = D * P,
                                           .transposed = 1,
                                           .b = b->zt + column * D,
                                           .b_panel = D * P,
                                           .c = s->x,
                                           .c_panel = s->panel});
}

/* Sets the cosines of the candidates to LEFT_OUT that the guide of block k excludes. s: tile of the rows [row, row +
 * BLOCK) of the strip and the candidates [column, column + BLOCK). */
static void leave_out_guided(const aoei_info_nce *c, size_t k, const aoei_scores_f64 *s, size_t row, size_t column) {
    double guide[BLOCK * BLOCK];
    const aoei_scores_f64 g = {.x = guide, .panel = s->rows * P, .rows = s->rows, .cols = s->cols};
    cosines(c->ctx, &g, c->block[k].guide_anchors, c->from + row, c->block[k].guide_candidates, column);
    for (size_t r = 0; r < s->rows; r++) {
        const size_t i = c->from + row + r;
        for (size_t j = 0; j < s->cols; j++)
            if (*tile_element(&g, r, j) > c->threshold[i] && !(k == 0 && column + j == i))
                *tile_element(s, r, j) = LEFT_OUT;
    }
}

/* Sets the cosines of the candidates to LEFT_OUT that belong to the example of their row. */
static void leave_out_own(const aoei_info_nce *c, const aoei_scores_f64 *s, size_t row, size_t column) {
    for (size_t r = 0; r < s->rows; r++) {
        const size_t i = c->from + row + r, first = (i + c->B - column % c->B) % c->B;
        for (size_t j = first; j < s->cols; j += c->B)
            *tile_element(s, r, j) = LEFT_OUT;
    }
}

/* Computes the cosines of one tile of the scores of the strip. The tasks of a block follow the tasks of the previous
 * block. */
static void score_task(void *arg, size_t task, size_t worker) {
    const aoei_info_nce *c = arg;
    const size_t rows = divide_up(c->rows, BLOCK);
    size_t k = 0;
    (void)worker;
    for (size_t tasks; task >= (tasks = rows * divide_up(c->block[k].M, BLOCK)); k++)
        task -= tasks;
    const aoei_nce_block *b = &c->block[k];
    const size_t row = task % rows * BLOCK, column = task / rows * BLOCK;
    const aoei_scores_f64 s = tile_at(c, k, row, column);
    cosines(c->ctx, &s, b->anchors, c->from + row, b->candidates, column);
    if (b->guide_candidates)
        leave_out_guided(c, k, &s, row, column);
    if (b->others_only)
        leave_out_own(c, &s, row, column);
}

/* Returns the address of the score of row `row` of the strip with a candidate of the first block. */
static double *score_at(const aoei_info_nce *c, size_t row, size_t column) {
    return c->score + column / P * c->rows * P + row * P + column % P;
}

/* Returns the address of the score of row `row` of the strip with the target of the row. */
static double *target(const aoei_info_nce *c, size_t row) {
    return score_at(c, row, c->from + row);
}

/* Returns the number of negatives of row `row` of the strip that the guide excludes. Must be called before the scores
 * are overwritten. The candidates that are excluded because they belong to the example of the row are no negatives. */
static size_t count_left_out(const aoei_info_nce *c, size_t row) {
    size_t n = 0;
    for (size_t k = 0; k < c->n_blocks; k++) {
        for (size_t column = 0; column < c->block[k].M; column += BLOCK) {
            const aoei_scores_f64 s = tile_at(c, k, row / BLOCK * BLOCK, column);
            for (size_t j = 0; j < s.cols; j++)
                n += *tile_element(&s, row % BLOCK, j) <= LEFT_OUT;
        }
        n -= c->block[k].others_only ? c->block[k].M / c->B : 0;
    }
    return n;
}

/* Computes the losses of P rows of the strip. If c->scale is not 0, overwrites the scores of these rows by d loss / d
 * cosine.
 */
static void softmax_task(void *arg, size_t task, size_t worker) {
    const aoei_info_nce *c = arg;
    const size_t row = task * P, rows = min_size(c->rows - row, P);
    double max[P], sum[P], tile_max[P], tile_sum[P], weight[P], zero_weight[BLOCK] = {0}, infinite_log[BLOCK];
    (void)worker;
    for (size_t r = 0; r < rows; r++) {
        max[r] = -INFINITY;
        sum[r] = 0.0;
        weight[r] = c->scale;
        if (c->block[0].guide_candidates)
            c->row_left_out[c->from + row + r] = count_left_out(c, row + r);
        for (size_t own = c->B; c->hard_negative != 0.0 && own < c->block[0].M; own += c->B)
            *score_at(c, row + r, own + c->from + row + r) += c->hard_negative * c->tau;
    }
    for (size_t k = 0; k < c->n_blocks; k++)
        for (size_t column = 0; column < c->block[k].M; column += BLOCK) {
            aoei_scores_f64 s = tile_at(c, k, row, column);
            s.rows = rows;
            aoei_panels_row_sums(c->ctx, &s, tile_max, tile_sum);
            aoei_panels_add_sums(rows, tile_max, tile_sum, max, sum);
        }
    for (size_t r = 0; r < rows; r++) {
        max[r] += log(sum[r]);
        c->row_loss[c->from + row + r] = max[r] - *target(c, row + r) * (1.0 / c->tau);
    }
    if (c->scale == 0.0)
        return;
    for (size_t k = 0; k < BLOCK; k++)
        infinite_log[k] = INFINITY;
    for (size_t k = 0; k < c->n_blocks; k++)
        for (size_t column = 0; column < c->block[k].M; column += BLOCK) {
            aoei_scores_f64 s = tile_at(c, k, row, column);
            s.rows = rows;
            aoei_panels_score_weights(c->ctx, &s, weight, max, zero_weight, infinite_log);
        }
    for (size_t r = 0; r < rows; r++)
        *target(c, row + r) -= c->scale;
}

/* The gradients that one parallel loop adds: those of the anchors, of the candidates, or of both sides of block k. */
typedef struct gradient_job {
    const aoei_info_nce *c;
    size_t k;    /* number of the block */
    size_t rows; /* number of tiles of anchors whose gradients are computed; 0: only those of the candidates */
} gradient_job;

/* Adds the contribution of the strip to dz, for one tile of rows and one group of GROUP columns. The tasks with low
 * numbers compute dz of the anchors; the other tasks compute dz of the candidates. */
static void gradient_task(void *arg, size_t task, size_t worker) {
    const gradient_job *job = arg;
    const aoei_info_nce *c = job->c;
    const aoei_unit_rows *q = c->block[job->k].anchors, *t = c->block[job->k].candidates;
    const double *score = c->score + c->start[job->k] * c->rows;
    const size_t groups = divide_up(q->D, GROUP), d = task % groups * GROUP, M = c->block[job->k].M;
    const int candidates = task / groups >= job->rows;
    const size_t tile = candidates ? task / groups - job->rows : task / groups, row = tile * BLOCK;
    aoei_gemm_f64 g = {.N = min_size(q->D - d, GROUP), .a_panel = c->rows * P, .accumulate = 1};
    (void)worker;
    if (candidates) {
        g.M = min_size(M - row, BLOCK), g.K = c->rows;
        g.a = score + row * c->rows, g.transposed = 1;
        g.b = q->z + d * q->N + c->from * P, g.b_panel = q->N * P;
        g.c = t->dz + d * t->N + row * P, g.c_panel = t->N * P;
    } else {
        g.M = min_size(c->rows - row, BLOCK), g.K = M;
        g.a = score + row * P;
        g.b = t->z + d * t->N, g.b_panel = t->N * P;
        g.c = q->dz + d * q->N + (c->from + row) * P, g.c_panel = q->N * P;
    }
    aoei_panels_gemm(c->ctx, &g);
}

/* Adds the contribution of the strip to dz of the anchors and of the candidates of block k. If both are the same rows,
 * their gradients are added one after the other. */
static void add_gradients(const aoei_info_nce *c, size_t k) {
    const aoei_nce_block *b = &c->block[k];
    const size_t groups = divide_up(b->anchors->D, GROUP), rows = divide_up(c->rows, BLOCK),
                 cols = divide_up(b->M, BLOCK);
    const int same = b->anchors == b->candidates;
    gradient_job job = {.c = c, .k = k, .rows = rows};
    aoei_parallel_for(c->ctx->pool, (rows + (same ? 0 : cols)) * groups, gradient_task, &job);
    if (!same)
        return;
    job.rows = 0;
    aoei_parallel_for(c->ctx->pool, cols * groups, gradient_task, &job);
}

/* Returns the number of doubles that the scores of `rows` examples with n_blocks blocks of M candidates occupy. If this
 * number overflows, sets *overflow to 1. */
static size_t scores_size(size_t rows, size_t M, size_t n_blocks, int *overflow) {
    size_t size = 0, padded = divide_up(M, P) * P;
    *overflow |= padded < M || aoei_mul_size(rows, padded, &size) || aoei_mul_size(size, n_blocks, &size);
    return size;
}

/* Returns the number of examples in a strip. If the scores of all examples fit in the score buffer, this is the number
 * of all examples. Otherwise, it is the largest multiple of BLOCK whose scores fit. */
static size_t strip_rows(const aoei_info_nce *c) {
    const size_t fitting = c->score_size / c->start[c->n_blocks];
    return fitting >= c->B ? c->B : fitting / BLOCK * BLOCK;
}

void aoei_info_nce_lay_out(aoei_info_nce *c, aoei_arena *a, size_t B, size_t M, size_t n_blocks) {
    *c = (aoei_info_nce){0};
    c->row_loss = aoei_arena_take_array(a, B, sizeof *c->row_loss);
    c->row_left_out = aoei_arena_take_array(a, B, sizeof *c->row_left_out);
    const size_t all = scores_size(B, M, n_blocks, &a->overflow), tiles = scores_size(BLOCK, M, n_blocks, &a->overflow);
    c->score_size = min_size(all, tiles > STORAGE ? tiles : STORAGE);
    c->score = aoei_arena_take_array(a, c->score_size, sizeof *c->score);
}

double aoei_info_nce_loss(aoei_info_nce *c, size_t B, const aoei_nce_block *blocks, size_t n_blocks, double weight,
                          int with_grad) {
    size_t tiles = 0;
    double loss = 0.0;
    assert(B >= 1 && n_blocks >= 1 && n_blocks <= AOEI_NCE_MAX_BLOCKS && blocks[0].M >= B);
    c->B = B;
    c->n_blocks = n_blocks;
    c->scale = with_grad ? weight / ((double)B * c->tau) : 0.0;
    for (size_t k = 0; k < n_blocks; k++) {
        assert(blocks[k].anchors->N >= B && blocks[k].candidates->N >= blocks[k].M);
        c->block[k] = blocks[k];
        c->start[k + 1] = c->start[k] + divide_up(blocks[k].M, P) * P;
        tiles += divide_up(blocks[k].M, BLOCK);
    }
    const size_t strip = strip_rows(c);
    for (c->from = 0; c->from < B; c->from += strip) {
        c->rows = min_size(B - c->from, strip);
        aoei_parallel_for(c->ctx->pool, divide_up(c->rows, BLOCK) * tiles, score_task, c);
        aoei_parallel_for(c->ctx->pool, divide_up(c->rows, P), softmax_task, c);
        for (size_t k = 0; k < n_blocks && c->scale != 0.0; k++)
            add_gradients(c, k);
    }
    for (size_t k = 0; k < n_blocks && blocks[0].guide_candidates; k++)
        c->negatives += B * (blocks[k].M - (blocks[k].others_only ? blocks[k].M / B : 0)) - (k == 0 ? B : 0);
    for (size_t i = 0; i < B; i++) {
        loss += c->row_loss[i];
        c->left_out += blocks[0].guide_candidates ? c->row_left_out[i] : 0;
    }
    return loss / (double)B;
}
