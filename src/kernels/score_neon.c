/* SPDX-License-Identifier: MIT
 * Softmax sums and weights of blocks of scores for NEON. This file instantiates score_simd.h with the vector types and
 * operations of simd_f64_neon.h.
 */
#include "kernels/simd_f64_neon.h"
#include "kernels/score_simd.h"
