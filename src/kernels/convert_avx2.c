/* SPDX-License-Identifier: MIT
 * Conversions between float32, bf16 and int8 for AVX2: compiles convert_simd.h with the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/convert_simd.h"
