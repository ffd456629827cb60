/* SPDX-License-Identifier: MIT
 * GELU and its gradient for AVX2. This file instantiates gelu_simd.h with the vector types and operations of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/gelu_simd.h"
