/* SPDX-License-Identifier: MIT
 * What the tiers of the float64 product share: the walk over blocks of K, slices
 * of panels and tiles. Operands come in panels, so nothing is packed. Blocks of K
 * spill the chain to C, exactly, so that block sizes never show in bits.
 */
#ifndef AOEI_KERNELS_GEMM_F64_BLOCK_H
#define AOEI_KERNELS_GEMM_F64_BLOCK_H

#include "kernels/kernels.h"

/* One tile of C and one block of its chain. */
typedef struct aoei_tile_f64 {
    const double *a; /* row i, k: a[k / 24 * a_panel + k % 24 * a_col + i * a_row] */
    size_t a_panel;
    const double *next; /* A of the next tile, to be fetched */
    const double *b;    /* k: b + k * 24 */
    size_t K;
    double *c; /* row i: c + i * 24 */
    int first; /* the chain starts from 0, not from C */
} aoei_tile_f64;

typedef void aoei_tile_f64_fn(const aoei_tile_f64 *t);

typedef struct aoei_gemm_f64_tier {
    size_t rows;  /* of a full tile; divides AOEI_PANEL_F64 */
    size_t slice; /* columns of a tile; divides AOEI_PANEL_F64 */
    /* by the rows of a tile, 1 to `rows`: A as it is (a_row 24, a_col 1) and transposed (a_row 1, a_col 24) */
    aoei_tile_f64_fn *const *plain, *const *transposed;
} aoei_gemm_f64_tier;

void aoei_gemm_f64_blocked(const aoei_gemm_f64_tier *tier, const aoei_gemm_f64 *g);

#endif
