/* SPDX-License-Identifier: MIT
 * Code shared by the tiers of the matmul kernels: loops over blocks, panels and tiles. A tier provides the tile kernels (a
 * few rows times one panel of columns, whose sums stay in registers while they run over a block of K), the packing and the
 * epilogue.
 * Operands are packed as 32-bit words. A word is a float32, or two bf16 that are adjacent in k if the tier multiplies bf16
 * natively. Between blocks of K, the running sums are stored exactly as float32, so block sizes do not change results.
 */
#ifndef AOEI_KERNELS_GEMM_BLOCK_H
#define AOEI_KERNELS_GEMM_BLOCK_H

#include "kernels/kernels.h"

/* One tile of C and one block of K. */
typedef struct aoei_gemm_tile {
    const float *a; /* [K][rows] packed words of A */
    const float *b; /* [K] rows of a panel of B, in words; row k starts at b + k * b_row */
    size_t b_row;
    size_t b_panel; /* words from one panel to the next; used by wide tiles only */
    size_t K;       /* words along k */
    float *chains;  /* [rows][columns] running sums, float32 */
    size_t chains_row;
    size_t rows;    /* number of rows, at most the tier's `rows` */
    size_t columns; /* number of columns, at most the tier's panel; a wide tile has AOEI_GEMM_WIDE whole panels */
    int first;      /* 1: the sums start from 0 instead of the stored values */
} aoei_gemm_tile;

/* Panels that the wide tile of a single row processes together, so that enough independent sums are in flight. */
#define AOEI_GEMM_WIDE ((size_t)4)

typedef void aoei_gemm_tile_fn(const aoei_gemm_tile *t);
/* Transposes lines into columns of words: dst[w * stride + i] = word w of line i. Element k of line i is src[i * row + k *
 * col], for i < lines, lines <= lanes and k < K. An incomplete last word is padded with zero. For each w in ascending order,
 * `lanes` words are written: those from index `lines` on are undefined and may be overwritten by the next w. */
typedef void aoei_gemm_pack_lines_fn(float *dst, size_t stride, const void *src, size_t row, size_t col, size_t lines,
                                     size_t K);
/* Computes rows [m, m + rows) and columns [n, n + columns) of C from their complete sums tile[i * tile_row + j]: everything
 * that aoei_product describes up to the store. tile may be C if C is float32 and both gate and residual are NULL. */
typedef void aoei_gemm_epilogue_fn(const aoei_product *g, const float *tile, size_t tile_row, size_t m, size_t n, size_t rows,
                                   size_t columns);

typedef struct aoei_gemm_tier {
    aoei_dtype type;                 /* type of A and B */
    size_t word;                     /* elements along k per word */
    size_t rows;                     /* rows of a full tile */
    size_t panel;                    /* columns of a tile; a multiple of lanes and a divisor of AOEI_GEMM_PANEL */
    size_t lanes;                    /* lines that pack_lines transposes at once; at least rows */
    size_t k_block;                  /* words of a block of K; a block of a panel of B has k_block * panel words */
    size_t m_block;                  /* rows of a block of A; packed A has m_block * k_block words and fits the L2 cache */
    aoei_gemm_tile_fn *const *tiles; /* [rows + 1] tile kernels indexed by the number of rows; [0] is the wide tile, or NULL */
    aoei_gemm_pack_lines_fn *pack_lines[2]; /* packing functions indexed by the type of the source */
    aoei_gemm_epilogue_fn *epilogue;
} aoei_gemm_tier;

/* Shared bodies of a tier's three kernels. */
void aoei_gemm_blocked(const aoei_gemm_tier *tier, const aoei_product *g, float *scratch);
size_t aoei_gemm_packed_bytes(const aoei_gemm_tier *tier, size_t K, size_t N);
void aoei_gemm_pack_columns(const aoei_gemm_tier *tier, void *packed, const void *b, aoei_dtype type, size_t b_row,
                            size_t b_col, size_t K, size_t n0, size_t n1);

/* The epilogue of each tier. Tiers above avx512 also use the avx512 epilogue. */
aoei_gemm_epilogue_fn aoei_gemm_epilogue_c, aoei_gemm_epilogue_avx2, aoei_gemm_epilogue_avx512;

/* X(0) X(1) ... X(R - 1). Tile kernels name their registers by row. */
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
