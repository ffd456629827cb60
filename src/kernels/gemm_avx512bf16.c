/* SPDX-License-Identifier: MIT
 * bf16 matmul kernels for AVX512-BF16. This file instantiates gemm_simd.h for operands that are packed as pairs of bf16
 * elements with adjacent k. The instruction vdpbf16ps multiplies the two elements of a pair of A by the two elements of
 * a pair of B and adds both products to a running sum.
 */
#include "kernels/simd_avx512.h"
#include "kernels/transpose_avx512.h"

#define GEMM_ROWS           14
#define GEMM_PREFETCH_TILES 2

/* In each lane, adds both products of the bf16 pairs of x and b to the running sum. */
static inline vf dot_pairs(vf x, vf b, vf sum) {
    return _mm512_dpbf16_ps(sum, (__m512bh)_mm512_castps_si512(x), (__m512bh)_mm512_castps_si512(b));
}

#define GEMM_STEP(x, b, sum)  dot_pairs(x, b, sum)
#define GEMM_START(t, offset) vf_zero()
#define GEMM_EPILOGUE         aoei_gemm_epilogue_avx512bf16
#include "kernels/gemm_simd.h"

#define GEMM_OP          gemm_bf16
#define GEMM_TYPE        AOEI_BF16
#define GEMM_WORD        2
#define GEMM_KIND        WORD_PAIR
#define GEMM_KIND_OF_F32 WORD_PAIR
#include "kernels/gemm_ops.h"
