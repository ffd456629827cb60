/* SPDX-License-Identifier: MIT
 * The float32 product, vector body: tiles of up to GEMM_ROWS rows by two vectors
 * of columns, written once for both widths. Include simd_avx2.h or simd_avx512.h
 * and define GEMM_ROWS and transpose_lines first. A tile of fewer rows runs the
 * same instructions with fewer registers; one of fewer columns differs only in
 * how C is loaded and stored. So tails have the bits of full tiles.
 */
#ifndef AOEI_KERNELS_GEMM_SIMD_H
#define AOEI_KERNELS_GEMM_SIMD_H

#include "kernels/gemm_block.h"

enum { PANEL = 2 * VF_LANES };

#define ZERO(i) vf l##i = vf_zero(), r##i = vf_zero();
#define LOAD(i)                                                                                                                \
    l##i = vf_load_part(t->c + i * t->c_row, left);                                                                            \
    r##i = vf_load_part(t->c + i * t->c_row + left, right);
#define STEP(i)                                                                                                                \
    x = vf_set1(a[i]);                                                                                                         \
    l##i = vf_fma(x, bl, l##i);                                                                                                \
    r##i = vf_fma(x, br, r##i);
#define SCALE(i)                                                                                                               \
    l##i = vf_mul(l##i, x);                                                                                                    \
    r##i = vf_mul(r##i, x);
#define BIAS(i)                                                                                                                \
    l##i = vf_add(l##i, bl);                                                                                                   \
    r##i = vf_add(r##i, br);
#define STORE(i)                                                                                                               \
    vf_store(t->c + i * t->c_row, l##i);                                                                                       \
    vf_store(t->c + i * t->c_row + VF_LANES, r##i);
#define STORE_PART(i)                                                                                                          \
    vf_store_part(t->c + i * t->c_row, left, l##i);                                                                            \
    vf_store_part(t->c + i * t->c_row + left, right, r##i);

/* The tile kernel of R rows: the chains of column vectors l and r of each row. */
#define TILE(R)                                                                                                                \
    static void tile_##R(const aoei_gemm_tile *t) {                                                                            \
        const size_t left = t->columns < VF_LANES ? t->columns : VF_LANES, right = t->columns - left;                          \
        const float *a = t->a, *b = t->b;                                                                                      \
        const size_t b_row = t->b_row;                                                                                         \
        vf x, bl, br;                                                                                                          \
        AOEI_ROWS_##R(ZERO);                                                                                                   \
        if (!t->first) {                                                                                                       \
            AOEI_ROWS_##R(LOAD);                                                                                               \
        }                                                                                                                      \
        for (size_t k = t->K; k > 0; k--) {                                                                                    \
            bl = vf_load(b);                                                                                                   \
            br = vf_load(b + VF_LANES);                                                                                        \
            AOEI_ROWS_##R(STEP);                                                                                               \
            a += R;                                                                                                            \
            b += b_row;                                                                                                        \
        }                                                                                                                      \
        if (t->last) {                                                                                                         \
            x = vf_set1(t->scale);                                                                                             \
            AOEI_ROWS_##R(SCALE);                                                                                              \
        }                                                                                                                      \
        if (t->last && t->bias) {                                                                                              \
            bl = vf_load_part(t->bias, left);                                                                                  \
            br = vf_load_part(t->bias + left, right);                                                                          \
            AOEI_ROWS_##R(BIAS);                                                                                               \
        }                                                                                                                      \
        if (t->columns == PANEL) {                                                                                             \
            AOEI_ROWS_##R(STORE);                                                                                              \
        } else {                                                                                                               \
            AOEI_ROWS_##R(STORE_PART);                                                                                         \
        }                                                                                                                      \
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

static aoei_gemm_tile_fn *const tiles[GEMM_ROWS + 1] = {
    NULL,   tile_1, tile_2, tile_3,  tile_4,  tile_5,  tile_6,
#if GEMM_ROWS > 6
    tile_7, tile_8, tile_9, tile_10, tile_11, tile_12, tile_13, tile_14,
#endif
};

static void pack_lines(float *dst, size_t stride, const float *src, size_t row, size_t col, size_t lines, size_t K) {
    if (row == 1) {
        for (size_t k = 0; k < K; k++) {
            /* rows far apart are beyond the hardware's prefetchers */
            _mm_prefetch((const char *)(src + (k + 16 < K ? k + 16 : k) * col), _MM_HINT_T0);
            vf_store(dst + k * stride, vf_load_part(src + k * col, lines));
        }
        return;
    }
    const float *line[VF_LANES];
    for (size_t i = 0; i < VF_LANES; i++)
        line[i] = src + (i < lines ? i : 0) * row;
    size_t k = col == 1 ? transpose_lines(dst, stride, line, K) : 0;
    for (; k < K; k++)
        for (size_t i = 0; i < VF_LANES; i++)
            dst[k * stride + i] = line[i][k * col];
}

static const aoei_gemm_tier tier = {.rows = GEMM_ROWS,
                                    .panel = PANEL,
                                    .lanes = VF_LANES,
                                    .k_block = 384,
                                    .m_block = 270 / GEMM_ROWS * GEMM_ROWS,
                                    .tiles = tiles,
                                    .pack_lines = pack_lines,
                                    .gelu = AOEI_SIMD(gelu_f32)};

size_t AOEI_SIMD(gemm_f32_packed_size)(size_t K, size_t N) {
    return aoei_gemm_packed_floats(&tier, K, N);
}

void AOEI_SIMD(gemm_f32_pack)(float *packed, const float *b, size_t b_row, size_t b_col, size_t K, size_t n0, size_t n1) {
    aoei_gemm_pack_columns(&tier, packed, b, b_row, b_col, K, n0, n1);
}

void AOEI_SIMD(gemm_f32)(const aoei_gemm_f32 *g, float *scratch) {
    aoei_gemm_blocked(&tier, g, scratch);
}

#endif
