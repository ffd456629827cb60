/* SPDX-License-Identifier: MIT
 * The walk of every vector product: blocks of rows, blocks of K, panels of
 * columns, tiles. A is packed once a block; a panel of B is packed just before
 * its use, when it was not packed beforehand, and stays in the nearest caches
 * for all tiles of the block of rows.
 *
 * A tile of a float32 C is stored where it belongs, and what the epilogue adds
 * beyond scale and bias is done right there while it is in the nearest cache. A
 * tile of a bf16 C is stored beside first: its chain runs over all of K at once.
 */
#include "kernels/gemm_block.h"

#include <assert.h>

#define CACHE_LINE ((size_t)16) /* words */

/* The block of work at hand. */
typedef struct walk {
    const aoei_gemm_tier *tier;
    const aoei_product *g;
    float *packed_b, *packed_a; /* scratch */
    float *staging;             /* [rows][panel] float32 of a tile of a bf16 C */
    size_t m, M;                /* rows [m, m + M) of C */
    size_t k, K;                /* the chains' [k, k + K) */
} walk;

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t panels(const aoei_gemm_tier *tier, size_t N) {
    return N / tier->panel + (N % tier->panel != 0);
}

static size_t words(const aoei_gemm_tier *tier, size_t K) {
    return K / tier->word + (K % tier->word != 0);
}

static const void *element(const void *p, aoei_dtype type, size_t offset) {
    return p ? (const unsigned char *)p + offset * aoei_dtype_size(type) : NULL;
}

/* dst[words(K)][panel] = up to `panel` columns of B; what lies beyond them has no meaning. */
static void pack_panel(const aoei_gemm_tier *tier, float *dst, const void *b, aoei_dtype type, size_t b_row, size_t b_col,
                       size_t K, size_t columns) {
    for (size_t j = 0; j < tier->panel; j += tier->lanes) {
        size_t lines = j < columns ? least(columns - j, tier->lanes) : 0;
        tier->pack_lines[type](dst + j, tier->panel, lines ? element(b, type, j * b_col) : b, b_col, b_row, lines, K);
    }
}

size_t aoei_gemm_packed_bytes(const aoei_gemm_tier *tier, size_t K, size_t N) {
    return panels(tier, N) * tier->panel * words(tier, K) * sizeof(float);
}

void aoei_gemm_pack_columns(const aoei_gemm_tier *tier, void *packed, const void *b, aoei_dtype type, size_t b_row,
                            size_t b_col, size_t K, size_t n0, size_t n1) {
    for (size_t n = n0; n < n1; n += tier->panel)
        pack_panel(tier, (float *)packed + n * words(tier, K), element(b, type, n * b_col), type, b_row, b_col, K,
                   least(n1 - n, tier->panel));
}

/* A few rows of B may be read where they lie, if their elements are words: too few uses would not repay a copy. */
static int reads_in_place(const walk *w) {
    return w->g->b_col == 1 && w->M <= 2 * w->tier->rows && w->tier->type == AOEI_F32;
}

/* Where one panel of B lies for the tiles: in the packed form, in B itself, or packed into the scratch. */
static void set_panel(const walk *w, aoei_gemm_tile *t, size_t n) {
    const aoei_gemm_tier *tier = w->tier;
    const aoei_product *g = w->g;
    t->b_row = tier->panel;
    if (g->packed) {
        t->b = (const float *)g->packed + n * words(tier, g->K) + w->k / tier->word * tier->panel;
        return;
    }
    const void *b = element(g->b, tier->type, w->k * g->b_row + n * g->b_col);
    if (reads_in_place(w) && t->columns == tier->panel) {
        t->b = b;
        t->b_row = g->b_row;
        return;
    }
    pack_panel(tier, w->packed_b, b, tier->type, g->b_row, g->b_col, w->K, t->columns);
    t->b = w->packed_b;
}

/* Asks for rows [k, k_end) of the panel of B from column n on: the rows lie too far apart for the hardware to foresee, and
 * tiles leave the memory idle. */
static void fetch_panel(const walk *w, size_t n, size_t k, size_t k_end) {
    for (; k < k_end; k++)
        for (size_t j = 0; j < w->tier->panel; j += CACHE_LINE)
            AOEI_PREFETCH(element(w->g->b, w->tier->type, k * w->g->b_row + n + j));
}

static void pack_rows(const walk *w) {
    const aoei_gemm_tier *tier = w->tier;
    const aoei_product *g = w->g;
    const size_t panel = words(tier, w->K) * tier->rows; /* packed in this order: what one writes beyond, the next overwrites */
    for (size_t i = 0; i < w->M; i += tier->rows) {
        const size_t rows = least(w->M - i, tier->rows);
        tier->pack_lines[tier->type](w->packed_a + i / tier->rows * panel, rows,
                                     element(g->a, tier->type, (w->m + i) * g->a_row + w->k * g->a_col), g->a_row, g->a_col,
                                     rows, w->K);
    }
}

/* 1 when there is more to do with a complete chain than the tile kernels do. */
static int has_epilogue(const aoei_product *g) {
    return g->c_type == AOEI_BF16 || g->activation != AOEI_IDENTITY || g->gate || g->residual;
}

/* One tile, its operands set: columns [n, ...) and rows [m, ...) of C. */
static void run_tile(const walk *w, aoei_gemm_tile *t, size_t m, size_t n) {
    const aoei_product *g = w->g;
    const int complete = w->k + w->K == g->K, finish = complete && has_epilogue(g);
    t->last = complete && !finish;
    if (g->c_type == AOEI_BF16) {
        t->c = w->staging;
        t->c_row = w->tier->panel;
    } else {
        t->c = (float *)g->c + m * g->c_row + n;
        t->c_row = g->c_row;
    }
    w->tier->tiles[t->rows](t);
    if (finish)
        w->tier->epilogue(g, t->c, t->c_row, m, n, t->rows, t->columns);
}

static void block_product(const walk *w) {
    const aoei_gemm_tier *tier = w->tier;
    const aoei_product *g = w->g;
    const size_t K = words(tier, w->K), panel_a = K * tier->rows, tiles = (w->M + tier->rows - 1) / tier->rows;
    const int copies_rows = !g->packed && g->b_col == 1 && !reads_in_place(w);
    aoei_gemm_tile t = {.K = K, .first = w->k == 0 && !g->accumulate, .scale = g->scale};
    pack_rows(w);
    for (size_t n = 0; n < g->N; n += tier->panel) {
        const int fetch = copies_rows && g->N - n > tier->panel;
        t.columns = least(g->N - n, tier->panel);
        t.bias = g->bias ? g->bias + n : NULL;
        set_panel(w, &t, n);
        for (size_t i = 0; i < tiles; i++) {
            t.rows = least(w->M - i * tier->rows, tier->rows);
            t.a = w->packed_a + i * panel_a;
            if (fetch)
                fetch_panel(w, n + tier->panel, w->k + w->K * i / tiles, w->k + w->K * (i + 1) / tiles);
            run_tile(w, &t, w->m + i * tier->rows, n);
        }
    }
}

void aoei_gemm_blocked(const aoei_gemm_tier *tier, const aoei_product *g, float *scratch) {
    const size_t panel = tier->panel, staging = tier->rows * panel;
    size_t k_block = tier->k_block, m_block = tier->m_block;
    if (g->c_type == AOEI_BF16) { /* whole chains */
        const size_t all = g->K ? words(tier, g->K) : 1, budget = words(tier, k_block) * m_block;
        k_block = g->K;
        m_block = all * tier->rows < budget ? budget / all / tier->rows * tier->rows : tier->rows;
    }
    const size_t b_words = g->packed ? 0 : words(tier, least(k_block, g->K)) * panel;
    assert(staging + b_words + words(tier, least(k_block, g->K)) * least(m_block, g->M + tier->rows) + tier->lanes <=
           AOEI_GEMM_SCRATCH);
    assert(!g->accumulate || (g->scale == 1 && !g->bias && !has_epilogue(g)));
    walk w = {.tier = tier, .g = g, .staging = scratch, .packed_b = scratch + staging, .packed_a = scratch + staging + b_words};
    for (w.m = 0; w.m < g->M; w.m += m_block) {
        w.M = least(g->M - w.m, m_block);
        w.k = 0;
        do {
            w.K = least(g->K - w.k, k_block);
            block_product(&w);
            w.k += w.K;
        } while (w.k < g->K);
    }
}
