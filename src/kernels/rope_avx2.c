/* SPDX-License-Identifier: MIT
 * Rotary positions for AVX2: compiles rope_simd.h with the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/rope_simd.h"
