/* SPDX-License-Identifier: MIT
 * float64 matmul kernels of tier avx512: gemm_f64_simd.h with tiles of up to 8 x 24, which use 24 registers for C.
 */
#include "kernels/simd_f64_avx512.h"

#define GEMM_ROWS 8

#include "kernels/gemm_f64_simd.h"
