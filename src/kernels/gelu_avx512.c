/* SPDX-License-Identifier: MIT
 * GELU and its gradient, AVX-512 tier: gelu_simd.h on the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/gelu_simd.h"
