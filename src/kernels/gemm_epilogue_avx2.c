/* SPDX-License-Identifier: MIT
 * Matmul epilogue for AVX2. This file instantiates gemm_epilogue_simd.h with the vector types and operations of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/gemm_epilogue_simd.h"
