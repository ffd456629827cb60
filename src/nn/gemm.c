/* SPDX-License-Identifier: MIT
 * Multithreaded matmul. It divides C into blocks, and each task computes one block. A task packs its rows of A and,
 * unless B is already packed, its columns of B. An element of A is therefore packed once for each block in a row of
 * blocks, and an element of B once for each block in a column of blocks. For this reason, blocks are as large as load
 * balancing allows.
 */
#include "base/pool.h"
#include "kernels/kernel_table.h"
#include "nn/gemm.h"

#include <assert.h>

static_assert(AOEI_WORKER_SCRATCH >= 2 * AOEI_GEMM_SCRATCH,
              "a worker's scratch buffer holds a kernel's scratch buffer");

/* Limits of the size of the blocks of C. Initially, a block has at most `rows` rows and `cols` columns. Then the number
 * of rows or of columns of a block is halved until C has at least `tasks` blocks (fewer if there are less than four
 * threads), or until neither can be halved: a block must have at least min_rows rows and min_cols columns. */
typedef struct block_sizes {
    size_t rows, cols, min_rows, min_cols, tasks; /* the limits described above */
    size_t unit;                                  /* the number of rows in a block is a multiple of `unit` */
} block_sizes;

/* limits for kernels with vector instructions */
static const block_sizes for_vectors = {
    .rows = 256, .cols = 768, .min_rows = 64, .min_cols = 128, .tasks = 16, .unit = 2};
/* Limits for the AMX kernel. Tile instructions need data faster than the L2 and L3 caches deliver it, so a panel of B
 * in the L1 cache must be used for many rows. Blocks therefore have many rows. */
static const block_sizes for_tiles = {
    .rows = 512, .cols = (size_t)1 << 30, .min_rows = 256, .min_cols = 128, .tasks = 8, .unit = 32};

#define THREAD_TASKS ((size_t)4) /* number of blocks per thread if there are two or three threads, without tiles */
#define PACK_ROWS                                                                                                      \
    ((size_t)64) /* minimum number of rows of A for which all threads pack B together before the matmul                \
                  */

/* A matmul and its division into blocks. */
typedef struct grid {
    const aoe_context *ctx;
    aoei_dtype type; /* type of A and B */
    const aoei_gemm_args *g;
    size_t rows, cols;     /* size of a block: number of rows, and number of columns, which is a multiple of
                              AOEI_GEMM_PANEL */
    size_t blocks_per_row; /* number of blocks in a row of blocks */
} grid;

static size_t ceil_div(size_t a, size_t b) {
    return (a + b - 1) / b;
}

/* Returns the size of blocks that divide n elements into equal blocks of at most `max_size` > 0 elements. The size is
 * rounded up to a multiple of `unit`. */
static size_t block_size(size_t n, size_t max_size, size_t unit) {
    size_t blocks = ceil_div(n, max_size);
    return blocks ? ceil_div(ceil_div(n, blocks), unit) * unit : unit;
}

/* Returns the size in bytes of the packed form of B[K,N] for matmuls of data type `type`. */
static size_t packed_size(const aoe_context *ctx, aoei_dtype type, size_t K, size_t N) {
    const aoei_kernels *k = aoei_kernels_of(ctx);
    return (type == AOEI_I8     ? k->gemm_int8_packed_size
            : type == AOEI_BF16 ? k->gemm_bf16_packed_size
                                : k->gemm_f32_packed_size)(K, N);
}

/* Returns a pointer to the element at `offset`, or NULL if p is NULL. */
static void *at(const void *p, aoei_dtype type, size_t offset) {
    return p ? (unsigned char *)p + offset * aoei_dtype_size(type) : NULL;
}

/* Computes one block of C. */
static void block_task(void *arg, size_t task, size_t worker) {
    const grid *s = arg;
    const aoei_kernels *k = aoei_kernels_of(s->ctx);
    aoei_gemm_args g = *s->g;
    const size_t m = task / s->blocks_per_row * s->rows, n = task % s->blocks_per_row * s->cols;
    g.M = g.M - m < s->rows ? g.M - m : s->rows;
    g.N = g.N - n < s->cols ? g.N - n : s->cols;
    g.a = at(g.a, s->type, m * g.a_row);
    g.b = at(g.b, s->type, n * g.b_col);
    if (g.packed)
        g.packed = (const unsigned char *)g.packed + packed_size(s->ctx, s->type, g.K, n);
    g.c = at(g.c, g.c_type, m * g.c_row + n);
    g.a_scale = g.a_scale ? g.a_scale + m : NULL;
    g.b_scale = g.b_scale ? g.b_scale + n : NULL;
    g.bias = g.bias ? g.bias + n : NULL;
    g.pre = at(g.pre, g.c_type, m * g.pre_row + n);
    g.gate = at(g.gate, g.c_type, m * g.gate_row + n);
    g.residual = at(g.residual, g.c_type, m * g.residual_row + n);
    (s->type == AOEI_I8     ? k->gemm_int8
     : s->type == AOEI_BF16 ? k->gemm_bf16
                            : k->gemm_f32)(&g, aoei_worker_scratch(s->ctx, worker));
}

/* Computes s->rows, s->cols and s->blocks_per_row. They depend on the shapes, on whether B is packed, on whether the
 * AMX kernel is used, and on the number of threads. Results do not depend on them. */
static void choose_blocks(grid *s) {
    const aoei_gemm_args *g = s->g;
    const int tiles = s->type != AOEI_F32 && aoei_tier_has_tiles(s->ctx->tier);
    const block_sizes *c = tiles ? &for_tiles : &for_vectors;
    /* the number of columns in a block is a multiple of `unit`; if A has a single row, kernels process four panels at a
     * time */
    const size_t unit = g->M == 1 ? 4 * AOEI_GEMM_PANEL : AOEI_GEMM_PANEL;
    /* with less than four threads, fewer blocks balance the load, and rows of A are packed for fewer blocks */
    const size_t threads = aoei_pool_threads(s->ctx->pool), few = threads == 1 ? 1 : threads * THREAD_TASKS;
    const size_t tasks = !tiles && few < c->tasks ? few : c->tasks;
    s->rows = block_size(g->M, c->rows, c->unit);
    s->cols = block_size(g->N, c->cols, unit);
    while (ceil_div(g->M, s->rows) * ceil_div(g->N, s->cols) < tasks) {
        const int by_rows = s->rows / 2 >= c->min_rows, by_cols = s->cols / 2 >= c->min_cols;
        /* With vector instructions, rows are halved before columns in two cases: B is packed, so that fewer rows per
         * block do not increase the packing work, or a block has at least as many rows as columns. */
        const int rows_first = !tiles && (g->packed || s->rows >= s->cols);
        if (by_rows && (!by_cols || rows_first))
            s->rows = block_size(g->M, s->rows / 2, c->unit);
        else if (by_cols)
            s->cols = block_size(g->N, s->cols / 2, unit);
        else
            break;
    }
    s->blocks_per_row = ceil_div(g->N, s->cols);
}

void aoei_gemm(const aoe_context *ctx, aoei_dtype type, const aoei_gemm_args *g) {
    if (!g->M || !g->N)
        return;
    grid s = {.ctx = ctx, .type = type, .g = g};
    choose_blocks(&s);
    aoei_parallel_for(ctx->pool, ceil_div(g->M, s.rows) * s.blocks_per_row, block_task, &s);
}

void aoei_multiply(const aoe_context *ctx, aoei_dtype type, aoei_gemm_args *g, aoei_tensor b, int transposed,
                   aoei_tensor workspace) {
    g->b = b.data;
    g->b_row = transposed ? 1 : b.ld;
    g->b_col = transposed ? b.ld : 1;
    if (!g->packed && workspace.data && (g->M >= PACK_ROWS || b.type != type)) {
        aoei_gemm_pack(ctx, type, workspace.data, b, transposed);
        g->packed = workspace.data;
    }
    assert(g->packed || (b.type == type && type != AOEI_I8));
    aoei_gemm(ctx, type, g);
}

typedef struct pack_job {
    const aoe_context *ctx;
    aoei_dtype type; /* data type of the matmuls that will use the packed form */
    void *packed;    /* output: the packed form */
    aoei_tensor t;   /* the matrix to pack */
    int transposed;  /* 0: B is t; 1: B is the transpose of t, so B[k][n] is t[n][k] */
} pack_job;

/* Packs columns [n0, n1) of B into `packed`. B[k][n] is b[k * b_row + n * b_col]. b_type must be a type that the
 * packing kernels accept. */
static void pack_columns(const pack_job *j, void *packed, const void *b, aoei_dtype b_type, size_t b_row, size_t b_col,
                         size_t n0, size_t n1) {
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    const size_t K = j->transposed ? j->t.cols : j->t.rows;
    (j->type == AOEI_I8     ? k->gemm_int8_pack
     : j->type == AOEI_BF16 ? k->gemm_bf16_pack
                            : k->gemm_f32_pack)(packed, b, b_type, b_row, b_col, K, n0, n1);
}

/* Converts elements [col, col + n) of row `row` of t to float32. */
static void to_float32(const pack_job *j, float *to, size_t row, size_t col, size_t n) {
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    if (j->t.type == AOEI_I8)
        k->from_int8(to, aoei_tensor_at(j->t, row, col), j->t.scale[row], n);
    else
        k->from_bf16(to, aoei_tensor_at(j->t, row, col), n);
}

/* Packs columns [n0, n1) of B if the packing kernels do not accept the type of j->t. First converts the columns to
 * float32, in the buffer `converted`. */
static void pack_converted(const pack_job *j, float *converted, size_t n0, size_t n1) {
    const size_t K = j->transposed ? j->t.cols : j->t.rows, n = n1 - n0;
    void *panel = (unsigned char *)j->packed + packed_size(j->ctx, j->type, K, n0);
    assert(K <= AOEI_CONVERTED_SIDE);
    for (size_t i = 0; i < (j->transposed ? n : K); i++)
        if (j->transposed)
            to_float32(j, converted + i * K, n0 + i, 0, K);
        else
            to_float32(j, converted + i * n, i, n0, n);
    pack_columns(j, panel, converted, AOEI_F32, j->transposed ? 1 : n, j->transposed ? K : 1, 0, n);
}

/* Packs one panel, which contains AOEI_GEMM_PANEL columns of B. */
static void pack_task(void *arg, size_t task, size_t worker) {
    const pack_job *j = arg;
    const aoei_tensor t = j->t;
    const size_t N = j->transposed ? t.rows : t.cols, n0 = task * AOEI_GEMM_PANEL;
    const size_t n1 = N - n0 < AOEI_GEMM_PANEL ? N : n0 + AOEI_GEMM_PANEL;
    if (t.type == j->type || t.type == AOEI_F32)
        pack_columns(j, j->packed, t.data, t.type, j->transposed ? 1 : t.ld, j->transposed ? t.ld : 1, n0, n1);
    else
        pack_converted(j, aoei_worker_scratch(j->ctx, worker), n0, n1);
}

void aoei_gemm_pack(const aoe_context *ctx, aoei_dtype type, void *packed, aoei_tensor t, int transposed) {
    pack_job j = {ctx, type, packed, t, transposed};
    assert(type != AOEI_I8 || (t.type == AOEI_I8 && transposed));
    aoei_parallel_for(ctx->pool, ceil_div(transposed ? t.rows : t.cols, AOEI_GEMM_PANEL), pack_task, &j);
}

size_t aoei_weight_packed_size(const aoe_context *ctx, aoei_dtype type, size_t out, size_t in) {
    return (packed_size(ctx, type, in, out) + 63) / 64 * 64;
}

void aoei_weight_pack(const aoe_context *ctx, aoei_dtype type, aoei_tensor *w, void *memory) {
    aoei_gemm_pack(ctx, type, memory, *w, 1);
    w->packed = memory;
    w->packed_type = type;
}
