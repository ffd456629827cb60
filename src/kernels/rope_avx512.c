/* SPDX-License-Identifier: MIT
 * Rotary positions, AVX-512 tier: rope_simd.h on the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/rope_simd.h"
