/* SPDX-License-Identifier: MIT
 * Rotary positions for AVX2. This file instantiates rope_simd.h with the vector types and operations of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/rope_simd.h"
