/* SPDX-License-Identifier: MIT
 * float64 matmul kernel for AVX-512. This file instantiates gemm_f64_simd.h for tiles of up to 8 x 24 elements of the output
 * matrix C. The accumulators of a tile occupy 24 registers.
 */
#include "kernels/simd_f64_avx512.h"

#define GEMM_ROWS 8

#include "kernels/gemm_f64_simd.h"
