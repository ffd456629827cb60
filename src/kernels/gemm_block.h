/* SPDX-License-Identifier: MIT
 * What the tiers of the float32 product share: the walk over blocks, panels and
 * tiles. A tier brings the tile kernels (a few rows by one panel of columns,
 * kept in registers while the chain runs over a block of K) and the packing.
 * Blocks of K spill the chain to C, exactly, so block sizes never show in bits.
 */
#ifndef AOEI_KERNELS_GEMM_BLOCK_H
#define AOEI_KERNELS_GEMM_BLOCK_H

#include "kernels/kernels.h"

/* One tile of C and one block of its chain. */
typedef struct aoei_gemm_tile {
    const float *a; /* [K][rows], packed */
    const float *b; /* [K] rows of a whole panel of columns, b_row apart */
    size_t b_row;
    size_t K;
    float *c; /* [rows][columns] */
    size_t c_row;
    size_t rows;       /* 1 to the tier's */
    size_t columns;    /* 1 to the tier's panel */
    int first;         /* the chain starts from 0, not from C */
    int last;          /* the chain is complete after this block: scale and bias are due */
    float scale;       /* as in aoei_gemm_f32 */
    const float *bias; /* [columns] or NULL */
} aoei_gemm_tile;

typedef void aoei_gemm_tile_fn(const aoei_gemm_tile *t);
/* dst[k * stride + i] = src[i * row + k * col] for i < lines, lines <= lanes, k < K. For each k ascending, `lanes` floats
 * are written: beyond `lines` lie values of no meaning that the next k may overwrite. */
typedef void aoei_gemm_pack_lines_fn(float *dst, size_t stride, const float *src, size_t row, size_t col, size_t lines,
                                     size_t K);

typedef struct aoei_gemm_tier {
    size_t rows;                     /* of a full tile */
    size_t panel;                    /* columns of a tile; a multiple of lanes, divides AOEI_GEMM_PANEL */
    size_t lanes;                    /* lines that pack_lines transposes at once, at least rows */
    size_t k_block;                  /* a panel of B is k_block * panel floats */
    size_t m_block;                  /* packed A is m_block * k_block floats: in L2 */
    aoei_gemm_tile_fn *const *tiles; /* [rows + 1], by the rows of a tile */
    aoei_gemm_pack_lines_fn *pack_lines;
    aoei_gelu_f32_fn *gelu;
} aoei_gemm_tier;

/* Bodies of the three kernels of a tier. */
void aoei_gemm_blocked(const aoei_gemm_tier *tier, const aoei_gemm_f32 *g, float *scratch);
size_t aoei_gemm_packed_floats(const aoei_gemm_tier *tier, size_t K, size_t N);
void aoei_gemm_pack_columns(const aoei_gemm_tier *tier, float *packed, const float *b, size_t b_row, size_t b_col, size_t K,
                            size_t n0, size_t n1);

/* X(0) X(1) ... X(R - 1): tile kernels name their registers by row. */
#define AOEI_ROWS_1(X)  X(0)
#define AOEI_ROWS_2(X)  AOEI_ROWS_1(X) X(1)
#define AOEI_ROWS_3(X)  AOEI_ROWS_2(X) X(2)
#define AOEI_ROWS_4(X)  AOEI_ROWS_3(X) X(3)
#define AOEI_ROWS_5(X)  AOEI_ROWS_4(X) X(4)
#define AOEI_ROWS_6(X)  AOEI_ROWS_5(X) X(5)
#define AOEI_ROWS_7(X)  AOEI_ROWS_6(X) X(6)
#define AOEI_ROWS_8(X)  AOEI_ROWS_7(X) X(7)
#define AOEI_ROWS_9(X)  AOEI_ROWS_8(X) X(8)
#define AOEI_ROWS_10(X) AOEI_ROWS_9(X) X(9)
#define AOEI_ROWS_11(X) AOEI_ROWS_10(X) X(10)
#define AOEI_ROWS_12(X) AOEI_ROWS_11(X) X(11)
#define AOEI_ROWS_13(X) AOEI_ROWS_12(X) X(12)
#define AOEI_ROWS_14(X) AOEI_ROWS_13(X) X(13)

#endif
