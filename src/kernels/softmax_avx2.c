/* SPDX-License-Identifier: MIT
 * Softmax and its gradient, AVX2 tier: softmax_simd.h on the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/softmax_simd.h"
