/* SPDX-License-Identifier: MIT
 * SiLU and its gradient, AVX2 tier: silu_simd.h on the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/silu_simd.h"
