/* SPDX-License-Identifier: MIT
 * The gated linear unit and its gradient, AVX-512 tier: glu_simd.h on the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/glu_simd.h"
