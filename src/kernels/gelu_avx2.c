/* SPDX-License-Identifier: MIT
 * GELU and its gradient, AVX2 tier: gelu_simd.h on the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/gelu_simd.h"
