/* SPDX-License-Identifier: MIT
 * Softmax and its gradient, AVX-512 tier: softmax_simd.h on the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/softmax_simd.h"
