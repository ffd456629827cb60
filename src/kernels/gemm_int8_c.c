/* SPDX-License-Identifier: MIT
 * int8 matmul kernels in portable C. An element is packed as one int32 value in a 32-bit word. The tests compare the
 * kernels for other instruction sets with these kernels. Words are copied with memcpy, because the memory of words has
 * the type float.
 */
#include "kernels/gemm_block.h"

#include <string.h>

enum { ROWS = 4, PANEL = 8 };

/* Adds the terms of a block of K to the running sums of one row of a tile. */
static void add_row(int32_t sum[PANEL], const aoei_gemm_tile *t, size_t row) {
    for (size_t k = 0; k < t->K; k++) {
        int32_t a, b[PANEL];
        memcpy(&a, t->a + k * t->rows + row, sizeof a);
        memcpy(b, t->b + k * t->b_row, sizeof b);
        for (size_t j = 0; j < PANEL; j++)
            sum[j] += a * b[j];
    }
}

static void tile(const aoei_gemm_tile *t) {
    for (size_t i = 0; i < t->rows; i++) {
        float *sums = t->sums + i * t->sums_row;
        int32_t sum[PANEL] = {0};
        if (!t->first)
            memcpy(sum, sums, t->columns * sizeof *sum);
        add_row(sum, t, i);
        memcpy(sums, sum, t->columns * sizeof *sum);
    }
}

/* Packs `lines` lines (rows of A or columns of B) into the columns of dst. If `lines` is less than PANEL, columns
 * [lines, PANEL) of dst become copies of line 0. */
static void pack_lines(float *dst, size_t stride, const void *src, size_t row, size_t col, size_t lines, size_t K) {
    const int8_t *from = src;
    for (size_t k = 0; k < K; k++)
        for (size_t i = 0; i < PANEL; i++) {
            const int8_t x = from[(i < lines ? i : 0) * row + k * col];
            const int32_t word = (int32_t)x;
            memcpy(dst + k * stride + i, &word, sizeof word);
        }
}

static aoei_gemm_tile_fn *const tiles[ROWS + 1] = {NULL, tile, tile, tile, tile};

static const aoei_gemm_tier int8_tier = {.rows = ROWS,
                                         .panel = PANEL,
                                         .lanes = PANEL,
                                         .word = 1,
                                         .word_floats = 1,
                                         .type = AOEI_I8,
                                         .k_block = 512,
                                         .m_block = 128,
                                         .tiles = tiles,
                                         .pack_b = {NULL, NULL, pack_lines},
                                         .epilogue = aoei_gemm_epilogue_c};

size_t aoei_gemm_int8_packed_size_c(size_t K, size_t N) {
    return aoei_gemm_packed_bytes(&int8_tier, K, N);
}

void aoei_gemm_int8_pack_c(void *packed, const void *b, aoei_dtype type, size_t b_row, size_t b_col, size_t K,
                           size_t n0, size_t n1) {
    aoei_gemm_pack_columns(&int8_tier, packed, b, type, b_row, b_col, K, n0, n1);
}

void aoei_gemm_int8_c(const aoei_gemm_args *g, float *scratch) {
    aoei_gemm_blocked(&int8_tier, g, scratch);
}
