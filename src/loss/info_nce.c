/* SPDX-License-Identifier: MIT
 * The InfoNCE loss. It is computed for one strip, which is a range of queries, at a time. The scores are S_ij = <q_i, t_j> /
 * tau; p_ij is the softmax of row i. The target T_ij is 1 if j = i, otherwise 0. Then:
 *     B L       = sum_i (log sum_j exp(S_ij) - S_ii)
 *     B dL/dq_i = sum_j (p_ij - T_ij) t_j / tau
 *     B dL/dt_j = sum_i (p_ij - T_ij) q_i / tau
 * Before the softmax, `hard_negative` is added to the score of query i with its own negative, which is candidate B + i. A strip
 * contains complete rows of scores. The factors (p_ij - T_ij), which both gradients contain, therefore overwrite the scores.
 * All sums are accumulated in a fixed order, so the result depends neither on the number of threads nor on the size of the
 * strips.
 */
#include "loss/info_nce.h"

#include <assert.h>
#include <math.h>

#include "base/alloc.h"

enum {
    P = AOEI_PANEL_F64,
    BLOCK = 4 * P,    /* number of queries, and number of candidates, in a block of scores */
    GROUP = 8 * P,    /* columns of dz that one task computes */
    STORAGE = 1 << 23 /* number of doubles in the score buffer (64 MB), enough for 2,900 queries and 2,900 candidates. If the
                         scores of a single block of queries do not fit, the buffer has the size of these scores */
};

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t divide_up(size_t n, size_t size) {
    return (n + size - 1) / size;
}

/* Returns the block of the scores of queries [row, row + BLOCK) of the strip with candidates [column, column + BLOCK). At the
 * end of the strip, and at the end of the candidates, the block has fewer rows or columns. */
static aoei_scores_f64 block_at(const aoei_info_nce *c, size_t row, size_t column) {
    return (aoei_scores_f64){.x = c->score + column * c->rows + row * P,
                             .panel = c->rows * P,
                             .rows = min_size(c->rows - row, BLOCK),
                             .cols = min_size(c->M - column, BLOCK),
                             .scale = 1.0 / c->tau};
}

/* Computes the cosines of one block of scores of the strip. */
static void score_task(void *arg, size_t task, size_t worker) {
    const aoei_info_nce *c = arg;
    const size_t rows = divide_up(c->rows, BLOCK), row = task % rows * BLOCK, column = task / rows * BLOCK, D = c->queries.D;
    const aoei_scores_f64 s = block_at(c, row, column);
    (void)worker;
    aoei_panels_gemm(c->ctx, &(aoei_gemm_f64){.M = s.rows,
                                              .N = s.cols,
                                              .K = D,
                                              .a = c->queries.zt + (c->from + row) * D,
                                              .a_panel = D * P,
                                              .transposed = 1,
                                              .b = c->candidates.zt + column * D,
                                              .b_panel = D * P,
                                              .c = s.x,
                                              .c_panel = s.panel});
}

/* Returns the address of the score of query `row` of the strip with candidate `column`. */
static double *score_at(const aoei_info_nce *c, size_t row, size_t column) {
    return c->score + column / P * c->rows * P + row * P + column % P;
}

/* Returns the address of the score of query `row` of the strip with the target of the query. */
static double *target(const aoei_info_nce *c, size_t row) {
    return score_at(c, row, c->from + row);
}

/* Computes the losses of P queries of the strip. If c->scale is not 0, overwrites the scores of these queries by d loss / d
 * cosine. */
static void softmax_task(void *arg, size_t task, size_t worker) {
    const aoei_info_nce *c = arg;
    const size_t row = task * P, rows = min_size(c->rows - row, P);
    double max[P], sum[P], block_max[P], block_sum[P], weight[P], zero_weight[BLOCK] = {0}, infinite_log[BLOCK];
    (void)worker;
    for (size_t r = 0; r < rows; r++) {
        max[r] = -INFINITY;
        sum[r] = 0.0;
        weight[r] = c->scale;
        if (c->hard_negative != 0.0 && c->M > c->queries.N)
            *score_at(c, row + r, c->queries.N + c->from + row + r) += c->hard_negative * c->tau;
    }
    for (size_t column = 0; column < c->M; column += BLOCK) {
        aoei_scores_f64 s = block_at(c, row, column);
        s.rows = rows;
        aoei_panels_row_sums(c->ctx, &s, block_max, block_sum);
        aoei_panels_add_sums(rows, block_max, block_sum, max, sum);
    }
    for (size_t r = 0; r < rows; r++) {
        max[r] += log(sum[r]);
        c->row_loss[c->from + row + r] = max[r] - *target(c, row + r) * (1.0 / c->tau);
    }
    if (c->scale == 0.0)
        return;
    for (size_t k = 0; k < BLOCK; k++)
        infinite_log[k] = INFINITY;
    for (size_t column = 0; column < c->M; column += BLOCK) {
        aoei_scores_f64 s = block_at(c, row, column);
        s.rows = rows;
        aoei_panels_score_weights(c->ctx, &s, weight, max, zero_weight, infinite_log);
    }
    for (size_t r = 0; r < rows; r++)
        *target(c, row + r) -= c->scale;
}

/* Adds the contribution of the strip to dz, for one block of rows and one group of GROUP columns. The tasks with low numbers
 * compute dz of the queries; the other tasks compute dz of the candidates. */
static void gradient_task(void *arg, size_t task, size_t worker) {
    const aoei_info_nce *c = arg;
    const aoei_unit_rows *q = &c->queries, *t = &c->candidates;
    const size_t groups = divide_up(q->D, GROUP), d = task % groups * GROUP, blocks = divide_up(c->rows, BLOCK);
    const int candidates = task / groups >= blocks;
    const size_t block = candidates ? task / groups - blocks : task / groups, row = block * BLOCK;
    aoei_gemm_f64 g = {.N = min_size(q->D - d, GROUP), .a_panel = c->rows * P, .accumulate = 1};
    (void)worker;
    if (candidates) {
        g.M = min_size(c->M - row, BLOCK), g.K = c->rows;
        g.a = c->score + row * c->rows, g.transposed = 1;
        g.b = q->z + d * q->N + c->from * P, g.b_panel = q->N * P;
        g.c = t->dz + d * t->N + row * P, g.c_panel = t->N * P;
    } else {
        g.M = min_size(c->rows - row, BLOCK), g.K = c->M;
        g.a = c->score + row * P;
        g.b = t->z + d * t->N, g.b_panel = t->N * P;
        g.c = q->dz + d * q->N + (c->from + row) * P, g.c_panel = q->N * P;
    }
    aoei_panels_gemm(c->ctx, &g);
}

/* Returns the number of doubles that the scores of `rows` queries with M candidates occupy. If this number overflows, sets
 * *overflow to 1. */
static size_t scores_size(size_t rows, size_t M, int *overflow) {
    size_t size = 0, padded = divide_up(M, P) * P;
    *overflow |= padded < M || aoei_mul_size(rows, padded, &size);
    return size;
}

/* Returns the number of queries in a strip. If the scores of all queries fit in the score buffer, this is the number of all
 * queries. Otherwise, it is the largest multiple of BLOCK whose scores fit. */
static size_t strip_rows(const aoei_info_nce *c) {
    const size_t fitting = c->score_size / (divide_up(c->M, P) * P);
    return fitting >= c->queries.N ? c->queries.N : fitting / BLOCK * BLOCK;
}

void aoei_info_nce_lay_out(aoei_info_nce *c, aoei_arena *a, size_t B, size_t M, size_t D) {
    *c = (aoei_info_nce){0};
    aoei_unit_rows_lay_out(&c->queries, a, B, D);
    aoei_unit_rows_lay_out(&c->candidates, a, M, D);
    c->row_loss = aoei_arena_take_array(a, B, sizeof *c->row_loss);
    const size_t all = scores_size(B, M, &a->overflow), block = scores_size(BLOCK, M, &a->overflow);
    c->score_size = min_size(all, block > STORAGE ? block : STORAGE);
    c->score = aoei_arena_take_array(a, c->score_size, sizeof *c->score);
}

double aoei_info_nce_loss(aoei_info_nce *c, size_t M, double weight, int with_grad) {
    const size_t B = c->queries.N, groups = divide_up(c->queries.D, GROUP);
    double loss = 0.0;
    assert(M >= B && M <= c->candidates.N);
    c->M = M;
    c->scale = with_grad ? weight / ((double)B * c->tau) : 0.0;
    const size_t strip = strip_rows(c), columns = divide_up(M, BLOCK);
    for (c->from = 0; c->from < B; c->from += strip) {
        c->rows = min_size(B - c->from, strip);
        const size_t blocks = divide_up(c->rows, BLOCK);
        aoei_parallel_for(c->ctx->pool, blocks * columns, score_task, c);
        aoei_parallel_for(c->ctx->pool, divide_up(c->rows, P), softmax_task, c);
        if (c->scale != 0.0)
            aoei_parallel_for(c->ctx->pool, (blocks + columns) * groups, gradient_task, c);
    }
    for (size_t i = 0; i < B; i++)
        loss += c->row_loss[i];
    return loss / (double)B;
}
