/* SPDX-License-Identifier: MIT
 * float64 matmul kernels of tier avx2: gemm_f64_simd.h with tiles of up to 4 x 12, which use 12 registers for C.
 */
#include "kernels/simd_f64_avx2.h"

#define GEMM_ROWS 4

#include "kernels/gemm_f64_simd.h"
