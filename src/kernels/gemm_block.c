/* SPDX-License-Identifier: MIT
 * The walk of every float32 product: blocks of rows, blocks of K, panels of
 * columns, tiles. A is packed once a block; a panel of B is packed just before
 * its use, when it was not packed beforehand, and stays in the nearest caches
 * for all tiles of the block of rows.
 */
#include "kernels/gemm_block.h"

#include <assert.h>

#define CACHE_LINE ((size_t)16) /* floats */

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t panels(const aoei_gemm_tier *tier, size_t N) {
    return N / tier->panel + (N % tier->panel != 0);
}

/* dst[K][panel] = up to `panel` columns of B; what lies beyond them has no meaning. */
static void pack_panel(const aoei_gemm_tier *tier, float *dst, const float *b, size_t b_row, size_t b_col, size_t K,
                       size_t columns) {
    for (size_t j = 0; j < tier->panel; j += tier->lanes) {
        size_t lines = j < columns ? least(columns - j, tier->lanes) : 0;
        tier->pack_lines(dst + j, tier->panel, lines ? b + j * b_col : b, b_col, b_row, lines, K);
    }
}

size_t aoei_gemm_packed_floats(const aoei_gemm_tier *tier, size_t K, size_t N) {
    return panels(tier, N) * tier->panel * K;
}

void aoei_gemm_pack_columns(const aoei_gemm_tier *tier, float *packed, const float *b, size_t b_row, size_t b_col, size_t K,
                            size_t n0, size_t n1) {
    for (size_t n = n0; n < n1; n += tier->panel)
        pack_panel(tier, packed + n * K, b + n * b_col, b_row, b_col, K, least(n1 - n, tier->panel));
}

/* A few rows of B may be read where they lie: too few uses would not repay a copy. */
static int reads_in_place(const aoei_gemm_tier *tier, const aoei_gemm_f32 *g, size_t M) {
    return g->b_col == 1 && M <= 2 * tier->rows;
}

/* Where one panel of B lies for the tiles: in the packed form, in B itself, or packed into `buffer`. */
static void set_panel(const aoei_gemm_tier *tier, const aoei_gemm_f32 *g, aoei_gemm_tile *t, float *buffer, size_t n, size_t k,
                      size_t M) {
    t->b_row = tier->panel;
    if (g->packed) {
        t->b = g->packed + n * g->K + k * tier->panel;
        return;
    }
    const float *b = g->b + k * g->b_row + n * g->b_col;
    if (reads_in_place(tier, g, M) && t->columns == tier->panel) {
        t->b = b;
        t->b_row = g->b_row;
        return;
    }
    pack_panel(tier, buffer, b, g->b_row, g->b_col, t->K, t->columns);
    t->b = buffer;
}

/* Asks for rows [k, k_end) of the panel of B from column n on: the rows lie too far apart for the hardware to foresee, and
 * tiles leave the memory idle. */
static void fetch_panel(const aoei_gemm_tier *tier, const aoei_gemm_f32 *g, size_t n, size_t k, size_t k_end) {
    for (; k < k_end; k++)
        for (size_t j = 0; j < tier->panel; j += CACHE_LINE)
            AOEI_PREFETCH(g->b + k * g->b_row + n + j);
}

/* Rows [m, m + M) of C over the block [k, k + K) of the chain. */
static void block_product(const aoei_gemm_tier *tier, const aoei_gemm_f32 *g, float *scratch, size_t m, size_t M, size_t k,
                          size_t K) {
    float *packed_b = scratch, *packed_a = scratch + tier->k_block * tier->panel;
    const size_t panel_a = K * tier->rows; /* packed in this order: what one writes beyond its end, the next overwrites */
    for (size_t i = 0; i < M; i += tier->rows) {
        size_t rows = least(M - i, tier->rows);
        tier->pack_lines(packed_a + i / tier->rows * panel_a, rows, g->a + (m + i) * g->a_row + k * g->a_col, g->a_row,
                         g->a_col, rows, K);
    }
    aoei_gemm_tile t = {.K = K, .c_row = g->c_row, .first = k == 0 && !g->accumulate, .last = k + K == g->K, .scale = g->scale};
    const size_t tiles = (M + tier->rows - 1) / tier->rows;
    const int copies_rows = !g->packed && g->b_col == 1 && !reads_in_place(tier, g, M);
    for (size_t n = 0; n < g->N; n += tier->panel) {
        const int fetch = copies_rows && g->N - n > tier->panel;
        t.columns = least(g->N - n, tier->panel);
        t.bias = g->bias ? g->bias + n : NULL;
        set_panel(tier, g, &t, packed_b, n, k, M);
        for (size_t i = 0; i < tiles; i++) {
            t.rows = least(M - i * tier->rows, tier->rows);
            t.a = packed_a + i * panel_a;
            t.c = g->c + (m + i * tier->rows) * g->c_row + n;
            if (fetch)
                fetch_panel(tier, g, n + tier->panel, k + K * i / tiles, k + K * (i + 1) / tiles);
            tier->tiles[t.rows](&t);
        }
    }
}

void aoei_gemm_blocked(const aoei_gemm_tier *tier, const aoei_gemm_f32 *g, float *scratch) {
    assert(tier->k_block * (tier->panel + tier->m_block) + tier->lanes <= AOEI_GEMM_SCRATCH && tier->m_block % tier->rows == 0);
    assert(!g->accumulate || g->scale == 1);
    for (size_t m = 0; m < g->M; m += tier->m_block) {
        size_t M = least(g->M - m, tier->m_block), k = 0;
        do {
            size_t K = least(g->K - k, tier->k_block);
            block_product(tier, g, scratch, m, M, k, K);
            k += K;
        } while (k < g->K);
        for (size_t i = m; g->gelu && i < m + M; i++)
            tier->gelu(g->gelu + i * g->gelu_row, g->c + i * g->c_row, g->N);
    }
}
