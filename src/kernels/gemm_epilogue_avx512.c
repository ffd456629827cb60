/* SPDX-License-Identifier: MIT
 * Matmul epilogue for AVX-512. This file instantiates gemm_epilogue_simd.h with the vector types and operations of
 * simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/gemm_epilogue_simd.h"
