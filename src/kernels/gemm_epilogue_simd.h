/* SPDX-License-Identifier: MIT
 * The epilogue of the matmul kernels, vectorized for AVX2 and AVX-512. The epilogue consists of the operations that are applied
 * to the complete sum of an element before it is stored in C; aoei_gemm_args in kernels.h defines them. Include simd_avx2.h or
 * simd_avx512.h first.
 */
#ifndef AOEI_KERNELS_GEMM_EPILOGUE_SIMD_H
#define AOEI_KERNELS_GEMM_EPILOGUE_SIMD_H

#include "kernels/gemm_block.h"
#include "kernels/simd_math.h"

/* Loads n floats into the first n lanes. If n is the compile-time constant VF_LANES, this compiles to an unmasked load. */
static inline vf load_f32(const float *p, size_t n) {
    return n == VF_LANES ? vf_load(p) : vf_load_part(p, n);
}

static inline vf load_typed(const void *p, aoei_dtype type, size_t i, size_t n) {
    if (type == AOEI_F32)
        return load_f32((const float *)p + i, n);
    const aoei_bf16 *x = (const aoei_bf16 *)p + i;
    return n == VF_LANES ? vf_load_bf16(x) : vf_load_bf16_part(x, n);
}

static inline void store_typed(void *p, aoei_dtype type, size_t i, size_t n, vf x) {
    if (type == AOEI_BF16 && n == VF_LANES)
        vf_store_bf16((aoei_bf16 *)p + i, x);
    else if (type == AOEI_BF16)
        vf_store_bf16_part((aoei_bf16 *)p + i, n, x);
    else if (n == VF_LANES)
        vf_store((float *)p + i, x);
    else
        vf_store_part((float *)p + i, n, x);
}

/* The factor of x in the exponent of the activations that are x / (1 + e^(-factor x)). */
static inline float swish_scale(aoei_activation activation) {
    return activation == AOEI_SILU ? 1.0f : (float)AOEI_QUICK_GELU_SCALE;
}

static inline vf activate(aoei_activation activation, vf x) {
    return activation == AOEI_GELU        ? vf_gelu(x)
           : activation == AOEI_GELU_TANH ? vf_gelu_tanh(x)
           : activation == AOEI_IDENTITY  ? x
           : activation == AOEI_RELU      ? vf_relu(x)
                                          : vf_swish(x, swish_scale(activation));
}

static inline vf activation_derivative(aoei_activation activation, vf x) {
    return activation == AOEI_GELU        ? vf_gelu_derivative(x)
           : activation == AOEI_GELU_TANH ? vf_gelu_tanh_derivative(x)
           : activation == AOEI_IDENTITY  ? vf_set1(1.0f)
           : activation == AOEI_RELU      ? vf_relu_derivative(x)
                                          : vf_swish_derivative(x, swish_scale(activation));
}

/* Applies the epilogue to x, the complete sums of n elements of row i that start at column j, and stores the results in C.
 * `type` is the type of C as a compile-time constant. */
static inline void finish_part(const aoei_gemm_args *g, aoei_dtype type, vf x, size_t i, size_t j, size_t n) {
    x = vf_mul(x, vf_set1(g->scale));
    if (g->bias)
        x = vf_add(x, load_f32(g->bias + j, n));
    if (g->gate) {
        x = vf_mul(x, activation_derivative(g->activation, load_typed(g->gate, type, i * g->gate_row + j, n)));
    } else if (g->activation != AOEI_IDENTITY) {
        if (type == AOEI_BF16)
            x = vf_round_bf16(x);
        if (g->pre)
            store_typed(g->pre, type, i * g->pre_row + j, n, x);
        x = activate(g->activation, x);
    }
    if (g->residual)
        x = vf_add(x, load_typed(g->residual, type, i * g->residual_row + j, n));
    store_typed(g->c, type, i * g->c_row + j, n, x);
}

static inline void finish_rows(const aoei_gemm_args *g, aoei_dtype type, const float *tile, size_t tile_row, size_t m, size_t n,
                               size_t rows, size_t columns) {
    for (size_t i = 0; i < rows; i++) {
        const float *sums = tile + i * tile_row;
        size_t j = 0;
        for (; j + VF_LANES <= columns; j += VF_LANES)
            finish_part(g, type, vf_load(sums + j), m + i, n + j, VF_LANES);
        if (j < columns)
            finish_part(g, type, vf_load_part(sums + j, columns - j), m + i, n + j, columns - j);
    }
}

void AOEI_SIMD(gemm_epilogue)(const aoei_gemm_args *g, const float *tile, size_t tile_row, size_t m, size_t n, size_t rows,
                              size_t columns) {
    if (g->c_type == AOEI_BF16)
        finish_rows(g, AOEI_BF16, tile, tile_row, m, n, rows, columns);
    else
        finish_rows(g, AOEI_F32, tile, tile_row, m, n, rows, columns);
}

#endif
