/* SPDX-License-Identifier: MIT
 * Tier c of the float32 product: plain C, the reference of the other tiers. An
 * element is chain = a * b + chain over k ascending, product and sum rounded
 * each. Loops of fixed length over a panel let any compiler use its vectors.
 */
#include "kernels/gemm_block.h"

enum { ROWS = 4, PANEL = 8 };

/* Continues the chains of one row of a tile. */
static void row_chains(float chain[PANEL], const aoei_gemm_tile *t, size_t row) {
    const float *a = t->a + row, *b = t->b;
    float c[PANEL];
    for (size_t j = 0; j < PANEL; j++)
        c[j] = chain[j];
    for (size_t k = 0; k < t->K; k++) {
        for (size_t j = 0; j < PANEL; j++)
            c[j] = *a * b[j] + c[j];
        a += t->rows;
        b += t->b_row;
    }
    for (size_t j = 0; j < PANEL; j++)
        chain[j] = c[j];
}

static void tile(const aoei_gemm_tile *t) {
    for (size_t i = 0; i < t->rows; i++) {
        float *c = t->c + i * t->c_row;
        float chain[PANEL] = {0};
        for (size_t j = 0; j < t->columns && !t->first; j++)
            chain[j] = c[j];
        row_chains(chain, t, i);
        for (size_t j = 0; j < t->columns; j++) {
            float v = t->last ? chain[j] * t->scale : chain[j];
            c[j] = t->last && t->bias ? v + t->bias[j] : v;
        }
    }
}

static void pack_lines(float *dst, size_t stride, const float *src, size_t row, size_t col, size_t lines, size_t K) {
    const float *line[PANEL];
    for (size_t i = 0; i < PANEL; i++)
        line[i] = src + (i < lines ? i : 0) * row;
    for (size_t k = 0; k < K; k++)
        for (size_t i = 0; i < PANEL; i++)
            dst[k * stride + i] = line[i][k * col];
}

static aoei_gemm_tile_fn *const tiles[ROWS + 1] = {NULL, tile, tile, tile, tile};

static const aoei_gemm_tier tier = {.rows = ROWS,
                                    .panel = PANEL,
                                    .lanes = PANEL,
                                    .k_block = 512,
                                    .m_block = 128,
                                    .tiles = tiles,
                                    .pack_lines = pack_lines,
                                    .gelu = aoei_gelu_f32_c};

size_t aoei_gemm_f32_packed_size_c(size_t K, size_t N) {
    return aoei_gemm_packed_floats(&tier, K, N);
}

void aoei_gemm_f32_pack_c(float *packed, const float *b, size_t b_row, size_t b_col, size_t K, size_t n0, size_t n1) {
    aoei_gemm_pack_columns(&tier, packed, b, b_row, b_col, K, n0, n1);
}

void aoei_gemm_f32_c(const aoei_gemm_f32 *g, float *scratch) {
    aoei_gemm_blocked(&tier, g, scratch);
}
