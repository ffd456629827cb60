/* SPDX-License-Identifier: MIT
 * The threaded driver of the product kernels: cuts C into blocks and gives each
 * to a task. A task packs what it needs of A and B itself, so blocks are as
 * large as balance allows: an element of B is packed once for block_rows uses.
 */
#include "nn/gemm.h"

/* Blocks aim at these sizes when the product is large. */
#define BLOCK_ROWS ((size_t)256)
#define BLOCK_COLS ((size_t)768)
/* A product is cut smaller until it has this many tasks, down to these sizes. */
#define WANTED_TASKS ((size_t)16)
#define LEAST_COLS   ((size_t)96)
#define LEAST_ROWS   ((size_t)64)

typedef struct grid {
    const aoe_context *ctx;
    const aoei_gemm_f32 *g;
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

static void block_task(void *arg, size_t task, size_t worker) {
    const grid *s = arg;
    aoei_gemm_f32 g = *s->g;
    size_t m = task / s->across * s->rows, n = task % s->across * s->cols;
    g.M = g.M - m < s->rows ? g.M - m : s->rows;
    g.N = g.N - n < s->cols ? g.N - n : s->cols;
    g.a += m * g.a_row;
    g.b = g.b ? g.b + n * g.b_col : NULL;
    g.packed = g.packed ? g.packed + n * g.K : NULL;
    g.c += m * g.c_row + n;
    g.bias = g.bias ? g.bias + n : NULL;
    g.gelu = g.gelu ? g.gelu + m * g.gelu_row + n : NULL;
    s->ctx->kernels.gemm_f32(&g, aoei_worker_scratch(s->ctx, worker));
}

void aoei_gemm(const aoe_context *ctx, const aoei_gemm_f32 *g) {
    if (!g->M || !g->N)
        return;
    size_t rows = block_size(g->M, BLOCK_ROWS, 2), cols = block_size(g->N, BLOCK_COLS, AOEI_GEMM_PANEL);
    while (ceil_div(g->M, rows) * ceil_div(g->N, cols) < WANTED_TASKS && cols / 2 >= LEAST_COLS)
        cols = block_size(g->N, cols / 2, AOEI_GEMM_PANEL);
    while (ceil_div(g->M, rows) * ceil_div(g->N, cols) < WANTED_TASKS && rows / 2 >= LEAST_ROWS)
        rows = block_size(g->M, rows / 2, 2);
    grid s = {ctx, g, rows, cols, ceil_div(g->N, cols)};
    aoei_parallel_for(ctx->pool, ceil_div(g->M, rows) * s.across, block_task, &s);
}
