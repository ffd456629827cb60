/* SPDX-License-Identifier: MIT
 * The gated linear unit and its gradient for AVX2: compiles glu_simd.h with the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/glu_simd.h"
