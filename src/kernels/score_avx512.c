/* SPDX-License-Identifier: MIT
 * Sums and weights of score blocks, AVX-512 tier: score_simd.h on the vectors of simd_f64_avx512.h.
 */
#include "kernels/simd_f64_avx512.h"
#include "kernels/score_simd.h"
