/* SPDX-License-Identifier: MIT
 * The matmul kernels, vectorized for AVX2, AVX-512 and NEON, for all element types. A tile has up to GEMM_ROWS rows and
 * two vectors of columns. Before including this file, define transpose_lines and these macros: GEMM_ROWS, GEMM_STEP(x,
 * b, sum), which adds the product of the packed words x and b to sum, and GEMM_START(t, offset), which returns the
 * vector from which the sums of the columns start (aoei_gemm_tile.start; offset is relative to `start`). Each row is
 * computed with the same instructions in tiles of any number of rows. Tiles with fewer columns than two vectors differ
 * only in how the running sums are loaded and stored. Results therefore do not depend on the tile size. Registers and
 * memory contain words of any kind; the functions that load and store vectors of floats do not change their bits.
 */
#pragma once

#include "kernels/gemm_block.h"
#include "kernels/gemm_words.h"
#include "kernels/tier.h"

enum { PANEL = 2 * VF_LANES, M_BLOCK = 266, K_BLOCK = 384 };

/* aoei_gemm_tier.prefetch_tiles. An instruction set can define another value before it includes this file. */
#ifndef GEMM_PREFETCH_TILES
#define GEMM_PREFETCH_TILES 0
#endif

/* GEMM_LOAD_A(a) loads the words of A for one k, GEMM_A(i) returns word i in all lanes, and GEMM_STEP_ROW(i, b, sum)
 * adds the product of word i and the packed words b to sum. An instruction set can define other versions before it
 * includes this file.
 */
#ifndef GEMM_A
#define GEMM_LOAD_A(a)
#define GEMM_A(i) vf_set1(a[i])
#endif
#ifndef GEMM_STEP_ROW
#define GEMM_STEP_ROW(i, b, sum) GEMM_STEP(GEMM_A(i), b, sum)
#endif

/* Each step of k prefetches the address aoei_gemm_tile.next into the L2 cache. While the last tiles of a packed panel
 * of B are computed, this address is in the next panel. */
#if GEMM_PREFETCH_TILES
#define START_PREFETCH(t) const float *next = (t)->next;
#define PREFETCH_NEXT(t)                                                                                               \
    AOEI_PREFETCH(next);                                                                                               \
    next += (t)->next_row;
#else
#define START_PREFETCH(t)
#define PREFETCH_NEXT(t)
#endif

/* A panel of B with K_BLOCK words per column has 48 KB if a vector has 16 lanes, which is the size of the L1 cache of
 * most CPUs or more. B and the next rows of A are then read from the L2 cache, so they are also prefetched into the L1
 * cache: B 16 steps of k before it is used, and A 16 or more steps. With 8 lanes, a panel fits the L1 cache. */
#if VF_LANES == 16
#define PREFETCH_L1(a, b, b_row)                                                                                       \
    AOEI_PREFETCH_L1((b) + 16 * (b_row));                                                                              \
    AOEI_PREFETCH_L1((b) + 16 * (b_row) + VF_LANES);                                                                   \
    AOEI_PREFETCH_L1((a) + 16 * GEMM_ROWS);
#else
#define PREFETCH_L1(a, b, b_row)
#endif

#define START(i) vf l##i = start_l, r##i = start_r;
#define LOAD(i)                                                                                                        \
    l##i = vf_load_part(t->sums + i * t->sums_row, left);                                                              \
    r##i = vf_load_part(t->sums + i * t->sums_row + left, right);
#define STEP(i)                                                                                                        \
    l##i = GEMM_STEP_ROW(i, bl, l##i);                                                                                 \
    r##i = GEMM_STEP_ROW(i, br, r##i);
#define STORE(i)                                                                                                       \
    vf_store(t->sums + i * t->sums_row, l##i);                                                                         \
    vf_store(t->sums + i * t->sums_row + VF_LANES, r##i);
#define STORE_PART(i)                                                                                                  \
    vf_store_part(t->sums + i * t->sums_row, left, l##i);                                                              \
    vf_store_part(t->sums + i * t->sums_row + left, right, r##i);

/* Defines the tile kernel for R rows. The running sums of row i are in the vectors l##i and r##i (left and right
 * columns). */
#define TILE(R)                                                                                                        \
    static void tile_##R(const aoei_gemm_tile *t) {                                                                    \
        const size_t left = t->columns < VF_LANES ? t->columns : VF_LANES, right = t->columns - left;                  \
        const float *a = t->a, *b = t->b;                                                                              \
        const size_t b_row = t->b_row;                                                                                 \
        START_PREFETCH(t)                                                                                              \
        const vf start_l = GEMM_START(t, 0), start_r = GEMM_START(t, VF_LANES);                                        \
        AOEI_ROWS_##R(START);                                                                                          \
        if (!t->first) {                                                                                               \
            AOEI_ROWS_##R(LOAD);                                                                                       \
        }                                                                                                              \
        for (size_t k = t->K; k > 0; k--) {                                                                            \
            const vf bl = vf_load(b), br = vf_load(b + VF_LANES);                                                      \
            PREFETCH_NEXT(t)                                                                                           \
            PREFETCH_L1(a, b, b_row)                                                                                   \
            GEMM_LOAD_A(a);                                                                                            \
            AOEI_ROWS_##R(STEP);                                                                                       \
            a += R;                                                                                                    \
            b += b_row;                                                                                                \
        }                                                                                                              \
        if (t->columns == PANEL) {                                                                                     \
            AOEI_ROWS_##R(STORE);                                                                                      \
        } else {                                                                                                       \
            AOEI_ROWS_##R(STORE_PART);                                                                                 \
        }                                                                                                              \
    }

TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
#if GEMM_ROWS > 6
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
TILE(13)
TILE(14)
#endif

#define START_WIDE(p) vf l##p = GEMM_START(t, p * b_panel), r##p = GEMM_START(t, p * b_panel + VF_LANES);
#define LOAD_WIDE(p)                                                                                                   \
    l##p = vf_load(t->sums + p * PANEL);                                                                               \
    r##p = vf_load(t->sums + p * PANEL + VF_LANES);
#define STEP_WIDE(p)                                                                                                   \
    l##p = GEMM_STEP(x, vf_load(b + p * b_panel), l##p);                                                               \
    r##p = GEMM_STEP(x, vf_load(b + p * b_panel + VF_LANES), r##p);
#define STORE_WIDE(p)                                                                                                  \
    vf_store(t->sums + p * PANEL, l##p);                                                                               \
    vf_store(t->sums + p * PANEL + VF_LANES, r##p);

/* The kernel for wide tiles, which have one row and AOEI_GEMM_WIDE whole panels. */
static void tile_wide(const aoei_gemm_tile *t) {
    const float *b = t->b;
    const size_t b_row = t->b_row, b_panel = t->b_panel;
    AOEI_ROWS_4(START_WIDE);
    if (!t->first) {
        AOEI_ROWS_4(LOAD_WIDE);
    }
    for (size_t k = 0; k < t->K; k++) {
        const vf x = vf_set1(t->a[k]);
        AOEI_ROWS_4(STEP_WIDE);
        b += b_row;
    }
    AOEI_ROWS_4(STORE_WIDE);
}

static aoei_gemm_tile_fn *const tiles[GEMM_ROWS + 1] = {
    tile_wide, tile_1, tile_2, tile_3,  tile_4,  tile_5,  tile_6,
#if GEMM_ROWS > 6
    tile_7,    tile_8, tile_9, tile_10, tile_11, tile_12, tile_13, tile_14,
#endif
};
