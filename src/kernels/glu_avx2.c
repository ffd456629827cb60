/* SPDX-License-Identifier: MIT
 * The gated linear unit and its gradient for AVX2. This file instantiates glu_simd.h with the vector types and operations of
 * simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/glu_simd.h"
