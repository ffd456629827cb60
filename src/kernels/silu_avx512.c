/* SPDX-License-Identifier: MIT
 * SiLU and its gradient, AVX-512 tier: silu_simd.h on the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/silu_simd.h"
