/* SPDX-License-Identifier: MIT
 * Code shared by the float64 matmul of all instruction sets: loops over blocks of K, over column slices of each panel,
 * and over tiles. Operands are already stored in panels (AOEI_PANEL_F64 in kernels.h), so they are not packed. Between
 * blocks of K, the running sums are stored exactly in C, so block sizes do not change results.
 */
#pragma once

#include "kernels/kernels.h"

/* The arguments of a tile kernel. The kernel adds the K terms of one block of k to the sums of one tile of C. */
typedef struct aoei_tile_f64 {
    const double *a;    /* element (i, k) is a[k / 24 * a_panel + k % 24 * a_col + i * a_row]. If A is used as stored,
                           a_row is 24 and a_col is 1; if A is transposed, a_row is 1 and a_col is 24 */
    size_t a_panel;     /* distance between panels of A in doubles */
    const double *next; /* operand A of the tile that is computed next; the kernel prefetches it */
    const double *b;    /* B: row k starts at b + k * 24 */
    size_t K;           /* number of terms that the kernel adds to each sum */
    double *c;          /* C: row i starts at c + i * 24 */
    int first;          /* 1: the sums start from 0 instead of the stored C */
} aoei_tile_f64;

typedef void aoei_tile_f64_fn(const aoei_tile_f64 *t);

/* The float64 matmul code for one CPU tier (base/cpu.h), which is a set of instruction set extensions. */
typedef struct aoei_gemm_f64_tier {
    size_t rows;    /* rows of a full tile; a divisor of AOEI_PANEL_F64 */
    size_t columns; /* columns of a tile; a divisor of AOEI_PANEL_F64 */
    /* Tile kernels, indexed by the number of rows in the tile, 1 to `rows`. `plain` is for A as stored (a_row 24, a_col
     * 1); `transposed` is for A transposed (a_row 1, a_col 24). */
    aoei_tile_f64_fn *const *plain, *const *transposed;
} aoei_gemm_f64_tier;

void aoei_gemm_f64_blocked(const aoei_gemm_f64_tier *tier, const aoei_gemm_f64 *g);
