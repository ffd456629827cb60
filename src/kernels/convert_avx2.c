/* SPDX-License-Identifier: MIT
 * Conversions between float32, bf16 and int8 for AVX2. This file instantiates convert_simd.h with the vector types and
 * operations of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/convert_simd.h"
