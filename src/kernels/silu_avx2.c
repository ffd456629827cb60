/* SPDX-License-Identifier: MIT
 * SiLU and its gradient for AVX2: compiles silu_simd.h with the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/silu_simd.h"
