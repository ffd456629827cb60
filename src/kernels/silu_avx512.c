/* SPDX-License-Identifier: MIT
 * SiLU and its gradient for AVX-512: compiles silu_simd.h with the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/silu_simd.h"
