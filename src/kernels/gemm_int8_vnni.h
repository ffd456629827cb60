/* SPDX-License-Identifier: MIT
 * int8 matmul kernels for VNNI, with vectors of 256 or 512 bits. Operands are packed as words of four elements with
 * adjacent k. The instruction vpdpbusd multiplies four uint8 values by four int8 values and adds the products to an
 * int32 sum, without saturation. 128 is added to each element of A when it is packed. The sum of a column therefore
 * starts from -128 times the sum of the column of B. Include simd_avx2.h or simd_avx512.h and the header with
 * transpose_lines first, and define these macros:
 * - VPDPBUSD(sum, x, b): the instruction
 * - GEMM_ROWS, GEMM_PREFETCH_TILES and GEMM_EPILOGUE: see gemm_simd.h
 */

/* In each lane, adds the four products of the uint8 values of x and the int8 values of b to the running sum, an int32
 * value. */
static inline vf add_products(vf x, vf b, vf sum) {
    return vf_of_bits(VPDPBUSD(vf_bits(sum), vf_bits(x), vf_bits(b)));
}

#define GEMM_STEP(x, b, sum)  add_products(x, b, sum)
#define GEMM_START(t, offset) vf_load((t)->start + (offset))
#include "kernels/gemm_simd.h"

#define GEMM_WORD     4
#define GEMM_KIND     WORD_INT8
#define GEMM_UNSIGNED 1
#include "kernels/gemm_int8_ops.h"
