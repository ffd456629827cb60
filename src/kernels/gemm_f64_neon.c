/* SPDX-License-Identifier: MIT
 * float64 matmul kernel for NEON. This file instantiates gemm_f64_simd.h for tiles of up to 4 x 12 elements of the output
 * matrix C. The accumulators of a tile occupy 24 registers.
 */
#include "kernels/simd_f64_neon.h"

#define GEMM_ROWS 4

#include "kernels/gemm_f64_simd.h"
