/* SPDX-License-Identifier: MIT
 * Softmax sums and weights of blocks of scores for AVX-512. This file instantiates score_simd.h with the vector types and
 * operations of simd_f64_avx512.h.
 */
#include "kernels/simd_f64_avx512.h"
#include "kernels/score_simd.h"
