/* SPDX-License-Identifier: MIT
 * Conversions between float32, bf16 and int8, AVX2 tier: convert_simd.h on the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/convert_simd.h"
