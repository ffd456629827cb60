/* SPDX-License-Identifier: MIT
 * GELU and its gradient for AVX-512: compiles gelu_simd.h with the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/gelu_simd.h"
