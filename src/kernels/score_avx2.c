/* SPDX-License-Identifier: MIT
 * Sums and weights of score blocks, AVX2 tier: score_simd.h on the vectors of simd_f64_avx2.h.
 */
#include "kernels/simd_f64_avx2.h"
#include "kernels/score_simd.h"
