/* SPDX-License-Identifier: MIT
 * Code shared by the matmul kernels of all instruction sets except AMX: loops over blocks, panels and tiles. A panel is
 * a group of adjacent columns; a tile is a few rows of one panel. A block of K is a range of k, for which a tile kernel
 * keeps the sums of its tile in registers. The code for an instruction set provides the packing of operands, the tile
 * kernels and the epilogue. Operands are packed as words. A word is a float32, or several elements with adjacent k: two
 * or four bf16 elements if the instruction set has an instruction that multiplies bf16, and two, four or eight int8
 * elements in an int8 matmul (gemm_words.h, gemm_mmla.h). Four bf16 elements and eight int8 elements occupy the memory
 * of two floats, all other words that of one float. The running sums of an int8 matmul are int32 values, which are
 * stored in the memory of floats. Between blocks of K, running sums are stored exactly, as float32 or int32, so block
 * sizes do not change results.
 */
#pragma once

#include "kernels/kernels.h"

/* The arguments of a tile kernel. The kernel adds the terms of one block of K to the sums of one tile of C. */
typedef struct aoei_gemm_tile {
    const float *a; /* [K][rows] packed words of A */
    const float *b; /* packed words of a panel of B; the words for k start at b + k * b_row, for k from 0 to K - 1 */
    size_t b_row;   /* distance between the words of b for adjacent k, in floats */
    size_t b_panel; /* distance between adjacent panels of B, in floats; used for wide tiles only */
    /* Address that the kernel prefetches for the first k, if aoei_gemm_tier.prefetch_tiles is not 0. It increases by
     * next_row floats per k, and may be outside the operand. The kernel of wide tiles ignores it. */
    const float *next;
    size_t next_row;
    size_t K;           /* length of the block of K in words */
    float *sums;        /* [rows][columns] running sums, float32 or int32 */
    const float *start; /* only if aoei_gemm_tier.start_row is 1: [panel] int32 values from which the sums of the
                           columns start; in a wide tile, those of adjacent panels are b_panel floats apart */
    size_t sums_row;    /* distance between rows of running sums in floats */
    size_t rows;        /* number of rows, at most aoei_gemm_tier.rows */
    size_t columns; /* number of columns, at most aoei_gemm_tier.panel, or AOEI_GEMM_WIDE whole panels in a wide tile */
    int first;      /* 1: the sums start from 0, or from `start`, instead of the stored values */
} aoei_gemm_tile;

/* Number of panels of a wide tile. If A has a single row, a tile kernel computes the elements of this row in several
 * panels at a time, so that the CPU has enough independent sums to compute in parallel. Such a tile is called wide. */
#define AOEI_GEMM_WIDE ((size_t)4)

typedef void aoei_gemm_tile_fn(const aoei_gemm_tile *t);
/* Packs lines into columns of words: dst[w * stride + i] = word w of line i. A line is a row of A or a column of B.
 * `lines` is at most aoei_gemm_tier.lanes. Element k of line i is src[i * row + k * col], for i < lines and k < K. An
 * incomplete last word of a line is padded with zero. For each w in ascending order, the function writes
 * aoei_gemm_tier.lanes words, of which only the first `lines` words are defined. If stride is less than `lanes`, the
 * words for w + 1 overwrite undefined words for w. */
typedef void aoei_gemm_pack_lines_fn(float *dst, size_t stride, const void *src, size_t row, size_t col, size_t lines,
                                     size_t K);
/* Computes rows [m, m + rows) and columns [n, n + columns) of C from their complete sums tile[i * tile_row + j].
 * Applies scaling, bias, activation, gate and residual as aoei_gemm_args describes, and stores the results. tile may be
 * C if C is float32 and both gate and residual are NULL. */
typedef void aoei_gemm_epilogue_fn(const aoei_gemm_args *g, const float *tile, size_t tile_row, size_t m, size_t n,
                                   size_t rows, size_t columns);

/* The matmul code of one CPU tier (a set of instruction set extensions, base/cpu.h) for one element type. */
typedef struct aoei_gemm_tier {
    aoei_dtype type;    /* type of A and B */
    size_t word;        /* elements along k per word */
    size_t word_floats; /* size of a word in floats */
    size_t rows;        /* rows of a full tile */
    size_t panel;       /* columns of a tile, which is the width of a panel; a multiple of lanes and a divisor of
                           AOEI_GEMM_PANEL */
    size_t lanes;       /* maximum number of lines that one call of a packing function packs; at least `rows` */
    size_t k_block;     /* length of a block of K in words */
    size_t m_block; /* maximum number of rows in a block of A; a packed block has m_block * k_block words, which fit the
                       L2 cache */
    size_t prefetch_tiles;           /* maximum number of tiles of a panel that prefetch the next panel; 0: none */
    aoei_gemm_tile_fn *const *tiles; /* [rows + 1] tile kernels indexed by the number of rows; [0] is the kernel of wide
                                        tiles, or NULL */
    aoei_gemm_pack_lines_fn *pack_a; /* packs rows of A; NULL: pack_b[type] packs them */
    /* packing functions of B, indexed by its element type; NULL: this type is not supported */
    aoei_gemm_pack_lines_fn *pack_b[3];
    /* 1: only for int8. The words of each packed panel of B are followed by one int32 value per column, from which the
     * sums of the column start: -128 times the sum of the column. This is for instructions that multiply uint8 by int8:
     * 128 is added to each element of A when it is packed. */
    int start_row;
    aoei_gemm_epilogue_fn *epilogue; /* epilogue of this instruction set */
} aoei_gemm_tier;

/* The kernels of the matmul ops (gemm_f32, gemm_bf16 and gemm_int8) call these three functions. aoei_gemm_blocked
 * computes the matmul, aoei_gemm_packed_bytes returns the size of the packed form of B in bytes, and
 * aoei_gemm_pack_columns packs columns of B. */
void aoei_gemm_blocked(const aoei_gemm_tier *tier, const aoei_gemm_args *g, float *scratch);
size_t aoei_gemm_packed_bytes(const aoei_gemm_tier *tier, size_t K, size_t N);
void aoei_gemm_pack_columns(const aoei_gemm_tier *tier, void *packed, const void *b, aoei_dtype type, size_t b_row,
                            size_t b_col, size_t K, size_t n0, size_t n1);

/* The epilogues. The AMX kernels also use aoei_gemm_epilogue_avx512bf16, and the kernels for FEAT_DotProd, FEAT_BF16
 * and FEAT_I8MM use aoei_gemm_epilogue_neon. */
aoei_gemm_epilogue_fn aoei_gemm_epilogue_c, aoei_gemm_epilogue_avx2, aoei_gemm_epilogue_avx512,
    aoei_gemm_epilogue_avx512bf16, aoei_gemm_epilogue_neon;

/* AOEI_ROWS_R(X) expands to X(0) X(1) ... X(R - 1). Tile kernels use it to declare and update one set of variables per
 * row. */
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
