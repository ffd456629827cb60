/* SPDX-License-Identifier: MIT
 * Matmul kernels in portable C. The bf16 matmul is emulated in float32. The tests compare the kernels for other
 * instruction sets with these kernels. An element of C is computed as sum = sum + a * b for ascending k, where the
 * product and the sum are rounded separately. Loops over the columns of a panel have a constant length, so any compiler
 * can vectorize them.
 */
#include "kernels/gemm_block.h"

#include <string.h>

enum { ROWS = 4, PANEL = 8 };

/* Adds the terms of a block of K to the running sums of one row of a tile. */
static void add_row(float sum[PANEL], const aoei_gemm_tile *t, size_t row) {
    const float *a = t->a + row, *b = t->b;
    float c[PANEL];
    for (size_t j = 0; j < PANEL; j++)
        c[j] = sum[j];
    for (size_t k = 0; k < t->K; k++) {
        for (size_t j = 0; j < PANEL; j++)
            c[j] = *a * b[j] + c[j];
        a += t->rows;
        b += t->b_row;
    }
    for (size_t j = 0; j < PANEL; j++)
        sum[j] = c[j];
}

/* Adds the terms of one tile to its sums, or sets the sums if the tile is the first one along k. */
static void tile(const aoei_gemm_tile *t) {
    for (size_t i = 0; i < t->rows; i++) {
        float *sums = t->sums + i * t->sums_row;
        float sum[PANEL] = {0};
        for (size_t j = 0; j < t->columns && !t->first; j++)
            sum[j] = sums[j];
        add_row(sum, t, i);
        for (size_t j = 0; j < t->columns; j++)
            sums[j] = sum[j];
    }
}

/* Packs `lines` float32 lines (rows of A or columns of B) into the columns of dst. If `lines` is less than PANEL,
 * columns [lines, PANEL) of dst become copies of line 0. */
static void pack_lines_f32(float *dst, size_t stride, const void *src, size_t row, size_t col, size_t lines, size_t K) {
    const float *from = src;
    for (size_t k = 0; k < K; k++)
        for (size_t i = 0; i < PANEL; i++)
            dst[k * stride + i] = from[(i < lines ? i : 0) * row + k * col];
}

/* Packs float32 lines for the bf16 matmul: rounds each element to bf16 and stores the result as float32. */
static void pack_lines_rounded(float *dst, size_t stride, const void *src, size_t row, size_t col, size_t lines,
                               size_t K) {
    const float *from = src;
    for (size_t k = 0; k < K; k++)
        for (size_t i = 0; i < PANEL; i++)
            dst[k * stride + i] = aoei_bf16_to_f32(aoei_bf16_from_f32(from[(i < lines ? i : 0) * row + k * col]));
}

/* Packs bf16 lines as float32. */
static void pack_lines_bf16(float *dst, size_t stride, const void *src, size_t row, size_t col, size_t lines,
                            size_t K) {
    const aoei_bf16 *from = src;
    for (size_t k = 0; k < K; k++)
        for (size_t i = 0; i < PANEL; i++)
            dst[k * stride + i] = aoei_bf16_to_f32(from[(i < lines ? i : 0) * row + k * col]);
}

static float load(const void *p, aoei_dtype type, size_t i) {
    return type == AOEI_BF16 ? aoei_bf16_to_f32(((const aoei_bf16 *)p)[i]) : ((const float *)p)[i];
}

static void store(void *p, aoei_dtype type, size_t i, float x) {
    if (type == AOEI_BF16)
        ((aoei_bf16 *)p)[i] = aoei_bf16_from_f32(x);
    else
        ((float *)p)[i] = x;
}

static float activate(aoei_activation activation, float x) {
    static aoei_gelu_f32_fn *const functions[] = {[AOEI_GELU] = aoei_gelu_f32_c,
                                                  [AOEI_GELU_TANH] = aoei_gelu_tanh_f32_c,
                                                  [AOEI_SILU] = aoei_silu_f32_c,
                                                  [AOEI_RELU] = aoei_relu_f32_c,
                                                  [AOEI_QUICK_GELU] = aoei_quick_gelu_f32_c};
    float y = x;
    if (functions[activation])
        functions[activation](&y, &x, 1);
    return y;
}

/* Returns f * activation'(x). */
static float multiply_by_derivative(aoei_activation activation, float f, float x) {
    static aoei_gelu_grad_f32_fn *const functions[] = {[AOEI_GELU] = aoei_gelu_grad_f32_c,
                                                       [AOEI_GELU_TANH] = aoei_gelu_tanh_grad_f32_c,
                                                       [AOEI_SILU] = aoei_silu_grad_f32_c,
                                                       [AOEI_RELU] = aoei_relu_grad_f32_c,
                                                       [AOEI_QUICK_GELU] = aoei_quick_gelu_grad_f32_c};
    float y = f;
    if (functions[activation])
        functions[activation](&y, &f, &x, 1);
    return y;
}

/* Returns the sum of element (i, j) of an int8 matmul, dequantized. *sum contains the bits of the int32 sum. */
static float dequantize(const aoei_gemm_args *g, const float *sum, size_t i, size_t j) {
    int32_t x;
    memcpy(&x, sum, sizeof x);
    return (float)x * (g->a_scale[i] * g->b_scale[j]);
}

void aoei_gemm_epilogue_c(const aoei_gemm_args *g, const float *sums, size_t tile_row, size_t m, size_t n, size_t rows,
                          size_t columns) {
    for (size_t i = m; i < m + rows; i++)
        for (size_t j = n; j < n + columns; j++) {
            const float *sum = &sums[(i - m) * tile_row + j - n];
            float x = g->a_scale ? dequantize(g, sum, i, j) : *sum * g->scale;
            if (g->bias)
                x += g->bias[j];
            if (g->gate) {
                x = multiply_by_derivative(g->activation, x, load(g->gate, g->c_type, i * g->gate_row + j));
            } else if (g->activation != AOEI_IDENTITY) {
                if (g->c_type == AOEI_BF16 && !g->a_scale)
                    x = aoei_bf16_to_f32(aoei_bf16_from_f32(x));
                if (g->pre)
                    store(g->pre, g->c_type, i * g->pre_row + j, x);
                x = activate(g->activation, x);
            }
            if (g->residual)
                x += load(g->residual, g->c_type, i * g->residual_row + j);
            store(g->c, g->c_type, i * g->c_row + j, x);
        }
}

static aoei_gemm_tile_fn *const tiles[ROWS + 1] = {NULL, tile, tile, tile, tile};

static const aoei_gemm_tier f32_tier = {.rows = ROWS,
                                        .panel = PANEL,
                                        .lanes = PANEL,
                                        .word = 1,
                                        .word_floats = 1,
                                        .type = AOEI_F32,
                                        .k_block = 512,
                                        .m_block = 128,
                                        .tiles = tiles,
                                        .pack_b = {pack_lines_f32, pack_lines_bf16},
                                        .epilogue = aoei_gemm_epilogue_c};

static const aoei_gemm_tier bf16_tier = {.rows = ROWS,
                                         .panel = PANEL,
                                         .lanes = PANEL,
                                         .word = 1,
                                         .word_floats = 1,
                                         .type = AOEI_BF16,
                                         .k_block = 512,
                                         .m_block = 128,
                                         .tiles = tiles,
                                         .pack_b = {pack_lines_rounded, pack_lines_bf16},
                                         .epilogue = aoei_gemm_epilogue_c};

size_t aoei_gemm_f32_packed_size_c(size_t K, size_t N) {
    return aoei_gemm_packed_bytes(&f32_tier, K, N);
}

void aoei_gemm_f32_pack_c(void *packed, const void *b, aoei_dtype type, size_t b_row, size_t b_col, size_t K, size_t n0,
                          size_t n1) {
    aoei_gemm_pack_columns(&f32_tier, packed, b, type, b_row, b_col, K, n0, n1);
}

void aoei_gemm_f32_c(const aoei_gemm_args *g, float *scratch) {
    aoei_gemm_blocked(&f32_tier, g, scratch);
}

size_t aoei_gemm_bf16_packed_size_c(size_t K, size_t N) {
    return aoei_gemm_packed_bytes(&bf16_tier, K, N);
}

void aoei_gemm_bf16_pack_c(void *packed, const void *b, aoei_dtype type, size_t b_row, size_t b_col, size_t K,
                           size_t n0, size_t n1) {
    aoei_gemm_pack_columns(&bf16_tier, packed, b, type, b_row, b_col, K, n0, n1);
}

void aoei_gemm_bf16_c(const aoei_gemm_args *g, float *scratch) {
    aoei_gemm_blocked(&bf16_tier, g, scratch);
}
