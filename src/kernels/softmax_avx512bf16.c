/* SPDX-License-Identifier: MIT
 * Softmax with bf16 results for AVX512-BF16, which rounds to bf16 with an instruction of its own.
 */
#define AOEI_SIMD(op)     aoei_##op##_avx512bf16
#define AOEI_CVTNEPS2BF16 1
#include "kernels/simd_avx512.h"
#include "kernels/softmax_simd.h"
