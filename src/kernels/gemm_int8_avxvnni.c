/* SPDX-License-Identifier: MIT
 * int8 matmul kernels for AVX-VNNI. This file instantiates gemm_int8_vnni.h for tiles of up to 6 x
 * 16 elements of C.
 */
#include "kernels/simd_avx2.h"
#include "kernels/transpose_avx2.h"

#define VPDPBUSD(sum, x, b) _mm256_dpbusd_avx_epi32(sum, x, b)
#define GEMM_ROWS           6
#define GEMM_PREFETCH_TILES 8
#define GEMM_EPILOGUE       aoei_gemm_epilogue_avx2
#include "kernels/gemm_int8_vnni.h"
