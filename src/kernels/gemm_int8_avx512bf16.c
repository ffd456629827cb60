/* SPDX-License-Identifier: MIT
 * int8 matmul kernels for AVX512-VNNI on CPUs with AVX512-BF16. This file instantiates gemm_int8_vnni.h for tiles of up
 * to 14 x 32 elements of C.
 */
#include "kernels/simd_avx512.h"
#include "kernels/transpose_avx512.h"

#define VPDPBUSD(sum, x, b) _mm512_dpbusd_epi32(sum, x, b)
#define GEMM_ROWS           14
#define GEMM_PREFETCH_TILES 2
#define GEMM_EPILOGUE       aoei_gemm_epilogue_avx512bf16
#include "kernels/gemm_int8_vnni.h"
