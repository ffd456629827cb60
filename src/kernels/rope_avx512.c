/* SPDX-License-Identifier: MIT
 * Rotary positions for AVX-512. This file instantiates rope_simd.h with the vector types and operations of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/rope_simd.h"
