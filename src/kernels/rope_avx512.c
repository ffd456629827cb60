/* SPDX-License-Identifier: MIT
 * Rotary positions for AVX-512: compiles rope_simd.h with the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/rope_simd.h"
