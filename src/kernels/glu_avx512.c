/* SPDX-License-Identifier: MIT
 * The gated linear unit and its gradient for AVX-512. This file instantiates glu_simd.h with the vector types and operations of
 * simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/glu_simd.h"
