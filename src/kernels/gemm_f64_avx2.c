/* SPDX-License-Identifier: MIT
 * Tier avx2 of the float64 product: gemm_f64_simd.h with tiles of up to 4 x 12, 12 registers of C.
 */
#include "kernels/simd_f64_avx2.h"

#define GEMM_ROWS 4

#include "kernels/gemm_f64_simd.h"
