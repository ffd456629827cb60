/* SPDX-License-Identifier: MIT
 * Matmul epilogue for AVX2: compiles gemm_epilogue_simd.h with the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/gemm_epilogue_simd.h"
