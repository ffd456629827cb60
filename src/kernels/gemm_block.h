/* SPDX-License-Identifier: MIT
 * What the tiers of the products share: the walk over blocks, panels and tiles. A tier brings
 * the tile kernels (a few rows by one panel of columns, kept in registers while their chains run
 * over a block of K), the packing and the epilogue.
 *
 * Operands are packed as 32-bit words: a float32, or two bf16 that are neighbours in k where the
 * tier multiplies those natively. Between blocks of K a chain waits as float32, exactly, so block
 * sizes never show in bits.
 */
#ifndef AOEI_KERNELS_GEMM_BLOCK_H
#define AOEI_KERNELS_GEMM_BLOCK_H

#include "kernels/kernels.h"

/* One tile and one block of its chains. */
typedef struct aoei_gemm_tile {
    const float *a; /* [K][rows] words, packed */
    const float *b; /* [K] rows of a panel's words, b_row apart */
    size_t b_row;
    size_t b_panel; /* words from a panel to the next; wide tiles only */
    size_t K;       /* words */
    float *chains;  /* [rows][columns], the float32 sums so far */
    size_t chains_row;
    size_t rows;    /* 1 to the tier's */
    size_t columns; /* 1 to the tier's panel; wide tiles: AOEI_GEMM_WIDE whole panels */
    int first;      /* the chains start from 0, not from what is stored */
} aoei_gemm_tile;

/* Panels that the wide tile of a single row takes at once, so that enough chains are in flight. */
#define AOEI_GEMM_WIDE ((size_t)4)

typedef void aoei_gemm_tile_fn(const aoei_gemm_tile *t);
/* dst[w * stride + i] = word w of line i, element k of which is src[i * row + k * col], for i < lines, lines <= lanes, k < K;
 * a last word that is not full is padded with zero. For each w ascending, `lanes` words are written: beyond `lines` lie
 * values of no meaning that the next w may overwrite. */
typedef void aoei_gemm_pack_lines_fn(float *dst, size_t stride, const void *src, size_t row, size_t col, size_t lines,
                                     size_t K);
/* C's rows [m, m + rows) and columns [n, n + columns) from their complete chains, tile[i * tile_row + j]: everything that
 * aoei_product says happens before the store. tile may be C where C is float32 and neither gate nor residual. */
typedef void aoei_gemm_epilogue_fn(const aoei_product *g, const float *tile, size_t tile_row, size_t m, size_t n, size_t rows,
                                   size_t columns);

typedef struct aoei_gemm_tier {
    aoei_dtype type;                        /* of A and B */
    size_t word;                            /* k's of a word */
    size_t rows;                            /* of a full tile */
    size_t panel;                           /* columns of a tile; a multiple of lanes, divides AOEI_GEMM_PANEL */
    size_t lanes;                           /* lines that pack_lines transposes at once, at least rows */
    size_t k_block;                         /* words of a block of K: a panel of B is k_block * panel words */
    size_t m_block;                         /* rows of a block: packed A is m_block * k_block words, in L2 */
    aoei_gemm_tile_fn *const *tiles;        /* [rows + 1], by the rows of a tile; [0]: the wide tile, or NULL */
    aoei_gemm_pack_lines_fn *pack_lines[2]; /* by the type of the source */
    aoei_gemm_epilogue_fn *epilogue;
} aoei_gemm_tier;

/* Bodies of the three kernels of a tier. */
void aoei_gemm_blocked(const aoei_gemm_tier *tier, const aoei_product *g, float *scratch);
size_t aoei_gemm_packed_bytes(const aoei_gemm_tier *tier, size_t K, size_t N);
void aoei_gemm_pack_columns(const aoei_gemm_tier *tier, void *packed, const void *b, aoei_dtype type, size_t b_row,
                            size_t b_col, size_t K, size_t n0, size_t n1);

/* The tiers' epilogues; avx512's serves the tiers above, too. */
aoei_gemm_epilogue_fn aoei_gemm_epilogue_c, aoei_gemm_epilogue_avx2, aoei_gemm_epilogue_avx512;

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
