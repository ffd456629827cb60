/* SPDX-License-Identifier: MIT
 * The epilogue of the matmul kernels for AVX512-BF16, which rounds to bf16 with an instruction of its own,
 * and reads GELU from tables.
 */
#define AOEI_SIMD(op)     aoei_##op##_avx512bf16
#define AOEI_CVTNEPS2BF16 1
#define AOEI_GELU_TABLES  1
#include "kernels/simd_avx512.h"
#include "kernels/gemm_epilogue_simd.h"
