/* SPDX-License-Identifier: MIT
 * Rotary positions, AVX2 tier: rope_simd.h on the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/rope_simd.h"
