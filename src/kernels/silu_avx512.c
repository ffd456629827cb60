/* SPDX-License-Identifier: MIT
 * SiLU and its gradient for AVX-512. This file instantiates silu_simd.h with the vector types and operations of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/silu_simd.h"
