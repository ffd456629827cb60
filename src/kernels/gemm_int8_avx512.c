/* SPDX-License-Identifier: MIT
 * int8 matmul kernels for AVX-512. Operands are packed as pairs of int16 values with adjacent k. The instruction
 * vpmaddwd multiplies two pairs and adds both products, without saturation.
 */
#include "kernels/simd_avx512.h"
#include "kernels/transpose_avx512.h"

#define GEMM_ROWS           14
#define GEMM_PREFETCH_TILES 2

/* In each lane, adds both products of the int16 pairs of x and b to the running sum, an int32 value. The sum of two
 * products of int8 values cannot overflow. */
static inline vf add_products(vf x, vf b, vf sum) {
    return vf_of_bits(_mm512_add_epi32(vf_bits(sum), _mm512_madd_epi16(vf_bits(x), vf_bits(b))));
}

#define GEMM_STEP(x, b, sum)  add_products(x, b, sum)
#define GEMM_START(t, offset) vf_zero()
#define GEMM_EPILOGUE         aoei_gemm_epilogue_avx512
#include "kernels/gemm_simd.h"

#define GEMM_WORD     2
#define GEMM_KIND     WORD_INT16
#define GEMM_UNSIGNED 0
#include "kernels/gemm_int8_ops.h"
