/* SPDX-License-Identifier: MIT
 * The loops of all matmul kernels except the AMX kernel. From outer to inner, they divide:
 * - C into blocks of columns and blocks of rows;
 * - each sum into blocks of K;
 * - a block of C into panels of columns, and each panel into tiles.
 * A block of A is packed once for all panels of the block of C. A panel of B is packed just before it is used, unless B
 * is already packed. The panel stays in the L1 cache while the tiles of the block use it. Running sums are stored
 * between blocks of K. They are stored in C if C is float32 and there is neither a gate nor a residual, because these
 * may share the memory of C. Otherwise they are stored in the scratch buffer. The epilogue processes a tile directly
 * after its last block of K, while the sums are in the L1 cache.
 */
#include "kernels/gemm_block.h"

#include <assert.h>
#include <string.h>

/* State of the loops: the matmul, the block of C that is being computed, and the current block of K. */
typedef struct work {
    const aoei_gemm_tier *tier;                /* matmul code of the instruction set */
    const aoei_gemm_args *g;                   /* arguments of the matmul */
    float *packed_a, *packed_b, *partial_sums; /* the three parts of the scratch buffer: the packed block of A, the
                                                  packed panels of B, and the running sums */
    size_t tile_rows;                          /* number of rows in every tile except the last one */
    size_t m, M;                               /* the block consists of rows [m, m + M) of C */
    size_t n, N;                               /* the block consists of columns [n, n + N) of C */
    size_t k, K;                               /* current block of K: terms [k, k + K) of each sum */
} work;

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t ceil_div(size_t a, size_t b) {
    return a / b + (a % b != 0);
}

/* Returns the size in floats of K packed elements of a line (a row of A or a column of B). */
static size_t line_floats(const aoei_gemm_tier *tier, size_t K) {
    return ceil_div(K, tier->word) * tier->word_floats;
}

static const void *element(const void *p, aoei_dtype type, size_t offset) {
    return (const unsigned char *)p + offset * aoei_dtype_size(type);
}

/* Packs up to `panel` columns of B into dst, which is a matrix of words with `panel` columns. If there are fewer
 * columns of B, the remaining columns of dst are undefined. */
static void pack_panel(const aoei_gemm_tier *tier, float *dst, const void *b, aoei_dtype type, size_t b_row,
                       size_t b_col, size_t K, size_t columns) {
    for (size_t j = 0; j < tier->panel; j += tier->lanes) {
        const size_t lines = j < columns ? min_size(columns - j, tier->lanes) : 0;
        tier->pack_b[type](dst + j * tier->word_floats, tier->panel, lines ? element(b, type, j * b_col) : b, b_col,
                           b_row, lines, K);
    }
}

/* Returns the number of floats of a packed panel of B per column. */
static size_t panel_floats(const aoei_gemm_tier *tier, size_t K) {
    return line_floats(tier, K) + (size_t)tier->start_row;
}

/* Sets start[panel] to -128 times the sums of the columns of B, as int32 values. The arithmetic is modulo 2^32, as that
 * of the running sums. Column i is b[i * b_col .. i * b_col + K - 1]. */
static void set_start(const aoei_gemm_tier *tier, float *start, const int8_t *b, size_t b_col, size_t K,
                      size_t columns) {
    for (size_t i = 0; i < tier->panel; i++) {
        int32_t sum = 0;
        for (size_t k = 0; k < K && i < columns; k++)
            sum += b[i * b_col + k];
        const uint32_t value = 0u - 128u * (uint32_t)sum;
        memcpy(start + i, &value, sizeof value);
    }
}

size_t aoei_gemm_packed_bytes(const aoei_gemm_tier *tier, size_t K, size_t N) {
    return ceil_div(N, tier->panel) * tier->panel * panel_floats(tier, K) * sizeof(float);
}

void aoei_gemm_pack_columns(const aoei_gemm_tier *tier, void *packed, const void *b, aoei_dtype type, size_t b_row,
                            size_t b_col, size_t K, size_t n0, size_t n1) {
    for (size_t n = n0; n < n1; n += tier->panel) {
        float *panel = (float *)packed + n * panel_floats(tier, K);
        const void *from = element(b, type, n * b_col);
        const size_t columns = min_size(n1 - n, tier->panel);
        pack_panel(tier, panel, from, type, b_row, b_col, K, columns);
        if (tier->start_row)
            set_start(tier, panel + line_floats(tier, K) * tier->panel, from, b_col, K, columns);
    }
}

/* Packs rows [m, m + M) of A for the current block of K. */
static void pack_rows(const work *w) {
    const aoei_gemm_tier *tier = w->tier;
    const aoei_gemm_args *g = w->g;
    aoei_gemm_pack_lines_fn *const pack = tier->pack_a ? tier->pack_a : tier->pack_b[tier->type];
    for (size_t i = 0; i < w->M; i += w->tile_rows) { /* packing can write a few words after the end of a tile; packing
                                                         of the next tile overwrites these words */
        const size_t rows = min_size(w->M - i, w->tile_rows);
        pack(w->packed_a + i * line_floats(tier, w->K), rows,
             element(g->a, tier->type, (w->m + i) * g->a_row + w->k * g->a_col), g->a_row, g->a_col, rows, w->K);
    }
}

/* Returns 1 if the tile kernels read B without packing. This requires that each element of B is a packed word, and that
 * the elements of a row of B are adjacent. It is used if A has so few rows that packing B would take more time than it
 * saves. */
static int reads_in_place(const work *w) {
    return !w->g->packed && w->g->b_col == 1 && w->M <= 2 * w->tier->rows && w->tier->type == AOEI_F32;
}

/* Sets t->b, t->b_row and t->b_panel to the location of columns [n, n + columns) of B. If the caller packed B, t->b
 * points into g->packed. If B is read without packing, t->b points into B. Otherwise the function packs the columns
 * into the scratch buffer. */
static void set_panels(const work *w, aoei_gemm_tile *t, size_t n, size_t columns) {
    const aoei_gemm_tier *tier = w->tier;
    const aoei_gemm_args *g = w->g;
    t->columns = columns;
    t->b_row = tier->panel * tier->word_floats;
    if (g->packed) {
        const float *panel = (const float *)g->packed + n * panel_floats(tier, g->K);
        t->b = panel + line_floats(tier, w->k) * tier->panel;
        t->start = panel + line_floats(tier, g->K) * tier->panel;
        t->b_panel = tier->panel * panel_floats(tier, g->K);
        return;
    }
    const void *b = element(g->b, tier->type, w->k * g->b_row + n * g->b_col);
    if (reads_in_place(w) && columns % tier->panel == 0) {
        t->b = b;
        t->b_row = g->b_row;
        t->b_panel = tier->panel;
        return;
    }
    t->b = w->packed_b;
    t->b_panel = tier->panel * line_floats(tier, w->K);
    for (size_t j = 0; j < columns; j += tier->panel)
        pack_panel(tier, w->packed_b + j * line_floats(tier, w->K), element(b, tier->type, j * g->b_col), tier->type,
                   g->b_row, g->b_col, w->K, min_size(columns - j, tier->panel));
}

static int keeps_sums_in_c(const aoei_gemm_args *g) {
    return g->c_type == AOEI_F32 && !g->gate && !g->residual;
}

/* Computes the tile of C that starts at row m and column n. The operands have been set in *t. */
static void run_tile(const work *w, aoei_gemm_tile *t, size_t m, size_t n) {
    const aoei_gemm_args *g = w->g;
    const int in_c = keeps_sums_in_c(g), complete = w->k + w->K == g->K;
    if (in_c) {
        t->sums = (float *)g->c + m * g->c_row + n;
        t->sums_row = g->c_row;
    } else { /* the sums of a panel are contiguous; if there is only one block of K, all tiles use the start of the
                buffer */
        t->sums = w->partial_sums + (w->K == g->K ? 0 : (n - w->n) * w->M + (m - w->m) * w->tier->panel);
        t->sums_row = w->tier->panel;
    }
    const int wide = t->columns > w->tier->panel;
    w->tier->tiles[wide ? 0 : t->rows](t);
    if (complete && !(in_c && !g->a_scale && g->scale == 1 && !g->bias && g->activation == AOEI_IDENTITY))
        w->tier->epilogue(g, t->sums, t->sums_row, m, n, t->rows, t->columns);
}

/* Sets t->next and t->next_row for a tile. left: number of tiles of the panel that have not been computed yet,
 * including this one. The last `parts` tiles of a panel (0: none) prefetch the next panel, one part each: while they
 * compute, the panel is read from the L3 cache or from memory. The parts are rounded up, so the last one can end after
 * the panel. */
static void set_next_panel(aoei_gemm_tile *t, size_t parts, size_t left) {
    t->next = t->b;
    t->next_row = 0;
    if (parts && left <= parts) {
        t->next_row = ceil_div(t->b_row, parts);
        t->next = t->b + t->b_panel + (parts - left) * t->K * t->next_row;
    }
}

/* Computes one block of C: packs the rows of A, then computes all tiles of the block. */
static void multiply_block(const work *w) {
    const aoei_gemm_tier *tier = w->tier;
    const aoei_gemm_args *g = w->g;
    const size_t wide = w->M == 1 && tier->tiles[0] ? AOEI_GEMM_WIDE * tier->panel : tier->panel, end = w->n + w->N;
    /* If B has not been packed by the caller, the next panel does not exist yet. If a panel has only one tile, B is
     * read as fast as caches or memory allow, so that prefetching the next panel does not help. */
    const size_t tiles = ceil_div(w->M, w->tile_rows),
                 parts = g->packed && tiles > 1 ? min_size(tiles, tier->prefetch_tiles) : 0;
    aoei_gemm_tile t = {.K = ceil_div(w->K, tier->word), .first = w->k == 0 && !g->accumulate};
    pack_rows(w);
    for (size_t n = w->n; n < end; n += t.columns) {
        set_panels(w, &t, n, end - n >= wide ? wide : min_size(end - n, tier->panel));
        for (size_t i = 0, left = tiles; i < w->M; i += t.rows, left--) {
            t.rows = min_size(w->M - i, w->tile_rows);
            t.a = w->packed_a + i * line_floats(tier, w->K);
            set_next_panel(&t, parts, left);
            run_tile(w, &t, w->m + i, n);
        }
    }
}

/* Returns the number of columns in a block of C. If running sums must be stored in the scratch buffer, this is the
 * number of columns whose running sums fit `capacity` floats. Otherwise it is the number of columns of C. */
static size_t block_columns(const aoei_gemm_tier *tier, const aoei_gemm_args *g, size_t capacity, size_t k_block) {
    const size_t columns = capacity / tier->m_block / tier->panel * tier->panel;
    assert(columns >= AOEI_GEMM_WIDE * tier->panel);
    return keeps_sums_in_c(g) || g->K <= k_block ? g->N : columns;
}

void aoei_gemm_blocked(const aoei_gemm_tier *tier, const aoei_gemm_args *g, float *scratch) {
    const size_t k_block = tier->k_block * tier->word;
    const size_t line = line_floats(tier, k_block);
    const size_t a_floats = tier->m_block * line + tier->lanes * tier->word_floats,
                 b_floats = AOEI_GEMM_WIDE * tier->panel * line;
    const size_t n_block = block_columns(tier, g, AOEI_GEMM_SCRATCH - a_floats - b_floats, k_block);
    const size_t m_block = g->M ? ceil_div(g->M, ceil_div(g->M, tier->m_block)) : 1; /* blocks of about equal numbers of
                                                                                        rows */
    work w = {.tier = tier,
              .g = g,
              .packed_a = scratch,
              .packed_b = scratch + a_floats,
              .partial_sums = scratch + a_floats + b_floats};
    assert(a_floats + b_floats < AOEI_GEMM_SCRATCH);
    assert(tier->type != AOEI_I8 ||
           (g->packed && g->a_scale && g->b_scale && !g->accumulate && g->K <= AOEI_INT8_MAX_K));
    assert(!g->accumulate || (g->scale == 1 && !g->bias && g->activation == AOEI_IDENTITY && keeps_sums_in_c(g)));
    for (w.n = 0; w.n < g->N; w.n += w.N) {
        w.N = min_size(g->N - w.n, n_block);
        for (w.m = 0; w.m < g->M; w.m += w.M) {
            w.M = min_size(g->M - w.m, m_block);
            w.tile_rows = ceil_div(w.M, ceil_div(w.M, tier->rows));
            w.k = 0;
            do {
                w.K = min_size(g->K - w.k, k_block);
                multiply_block(&w);
                w.k += w.K;
            } while (w.k < g->K);
        }
    }
}
