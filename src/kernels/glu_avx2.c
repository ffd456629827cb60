/* SPDX-License-Identifier: MIT
 * The gated linear unit and its gradient, AVX2 tier: glu_simd.h on the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/glu_simd.h"
