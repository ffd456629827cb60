/* SPDX-License-Identifier: MIT
 * Tier avx512 of the float64 product: gemm_f64_simd.h with tiles of up to 8 x 24, 24 registers of C.
 */
#include "kernels/simd_f64_avx512.h"

#define GEMM_ROWS 8

#include "kernels/gemm_f64_simd.h"
