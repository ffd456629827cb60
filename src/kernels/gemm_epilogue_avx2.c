/* SPDX-License-Identifier: MIT
 * Matmul epilogue, AVX2 tier: gemm_epilogue_simd.h on the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/gemm_epilogue_simd.h"
