/* SPDX-License-Identifier: MIT
 * The threaded driver of the product kernels: cuts C into blocks and gives each
 * to a task. A task packs what it needs of A, and of B unless that is packed, itself. An
 * element of A is packed once for the columns of a block, one of B for its rows, so blocks are as
 * large as balance allows.
 */
#include "nn/gemm.h"

/* How C is cut: blocks aim at the first sizes and are made smaller until there are `tasks`, down to the least ones. */
typedef struct cutting {
    size_t rows, cols, least_rows, least_cols, tasks;
    size_t unit; /* rows of a block are a multiple of it */
} cutting;

static const cutting for_vectors = {.rows = 256, .cols = 768, .least_rows = 64, .least_cols = 128, .tasks = 16, .unit = 2};
/* A panel of B has to serve many rows, because tiles multiply faster than the outer caches deliver. */
static const cutting for_tiles = {
    .rows = 512, .cols = (size_t)1 << 30, .least_rows = 256, .least_cols = 128, .tasks = 8, .unit = 32};

typedef struct grid {
    const aoe_context *ctx;
    aoei_dtype type; /* of A and B */
    const aoei_product *g;
    size_t rows, cols; /* of a block; cols a multiple of AOEI_GEMM_PANEL */
    size_t across;     /* blocks in a row of blocks */
} grid;

static size_t ceil_div(size_t a, size_t b) {
    return (a + b - 1) / b;
}

/* Cuts n into equal blocks of at most `most` (not 0), each but the last a multiple of `unit`. */
static size_t block_size(size_t n, size_t most, size_t unit) {
    size_t blocks = ceil_div(n, most);
    return blocks ? ceil_div(ceil_div(n, blocks), unit) * unit : unit;
}

/* The element at `offset`; NULL stays NULL. */
static void *at(const void *p, aoei_dtype type, size_t offset) {
    return p ? (unsigned char *)p + offset * aoei_dtype_size(type) : NULL;
}

static void block_task(void *arg, size_t task, size_t worker) {
    const grid *s = arg;
    const aoei_kernels *k = &s->ctx->kernels;
    const int bf16 = s->type == AOEI_BF16;
    aoei_product g = *s->g;
    const size_t m = task / s->across * s->rows, n = task % s->across * s->cols;
    g.M = g.M - m < s->rows ? g.M - m : s->rows;
    g.N = g.N - n < s->cols ? g.N - n : s->cols;
    g.a = at(g.a, s->type, m * g.a_row);
    g.b = at(g.b, s->type, n * g.b_col);
    if (g.packed)
        g.packed = (const unsigned char *)g.packed + (bf16 ? k->gemm_bf16_packed_size : k->gemm_f32_packed_size)(g.K, n);
    g.c = at(g.c, g.c_type, m * g.c_row + n);
    g.bias = g.bias ? g.bias + n : NULL;
    g.pre = at(g.pre, g.c_type, m * g.pre_row + n);
    g.gate = at(g.gate, g.c_type, m * g.gate_row + n);
    g.residual = at(g.residual, g.c_type, m * g.residual_row + n);
    (bf16 ? k->gemm_bf16 : k->gemm_f32)(&g, aoei_worker_scratch(s->ctx, worker));
}

/* Sets rows, cols and across from the shape and the kind of kernel alone. */
static void cut(grid *s) {
    const aoei_product *g = s->g;
    const int tiles = s->type == AOEI_BF16 && s->ctx->kernels.tier == AOEI_TIER_AMX;
    const cutting *c = tiles ? &for_tiles : &for_vectors;
    const size_t unit = g->M == 1 ? 4 * AOEI_GEMM_PANEL : AOEI_GEMM_PANEL; /* a single row takes panels by fours */
    s->rows = block_size(g->M, c->rows, c->unit);
    s->cols = block_size(g->N, c->cols, unit);
    while (ceil_div(g->M, s->rows) * ceil_div(g->N, s->cols) < c->tasks) {
        const int by_rows = s->rows / 2 >= c->least_rows, by_cols = s->cols / 2 >= c->least_cols;
        /* vectors: with B packed, fewer rows cost nothing */
        const int rows_first = !tiles && (g->packed || s->rows >= s->cols);
        if (by_rows && (!by_cols || rows_first))
            s->rows = block_size(g->M, s->rows / 2, c->unit);
        else if (by_cols)
            s->cols = block_size(g->N, s->cols / 2, unit);
        else
            break;
    }
    s->across = ceil_div(g->N, s->cols);
}

void aoei_gemm(const aoe_context *ctx, aoei_dtype type, const aoei_product *g) {
    if (!g->M || !g->N)
        return;
    grid s = {.ctx = ctx, .type = type, .g = g};
    cut(&s);
    aoei_parallel_for(ctx->pool, ceil_div(g->M, s.rows) * s.across, block_task, &s);
}

typedef struct pack_job {
    const aoe_context *ctx;
    aoei_dtype type, b_type;
    void *packed;
    const void *b;
    size_t b_row, b_col, K, N;
} pack_job;

static void pack_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const pack_job *j = arg;
    const aoei_kernels *k = &j->ctx->kernels;
    const size_t n0 = task * AOEI_GEMM_PANEL, n1 = j->N - n0 < AOEI_GEMM_PANEL ? j->N : n0 + AOEI_GEMM_PANEL;
    (j->type == AOEI_BF16 ? k->gemm_bf16_pack : k->gemm_f32_pack)(j->packed, j->b, j->b_type, j->b_row, j->b_col, j->K, n0, n1);
}

void aoei_gemm_pack(const aoe_context *ctx, aoei_dtype type, void *packed, const void *b, aoei_dtype b_type, size_t b_row,
                    size_t b_col, size_t K, size_t N) {
    pack_job j = {ctx, type, b_type, packed, b, b_row, b_col, K, N};
    aoei_parallel_for(ctx->pool, ceil_div(N, AOEI_GEMM_PANEL), pack_task, &j);
}
