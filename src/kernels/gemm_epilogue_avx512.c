/* SPDX-License-Identifier: MIT
 * Matmul epilogue, AVX-512 tier: gemm_epilogue_simd.h on the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/gemm_epilogue_simd.h"
