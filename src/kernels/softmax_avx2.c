/* SPDX-License-Identifier: MIT
 * Softmax and its gradient for AVX2. This file instantiates softmax_simd.h with the vector types and operations of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/softmax_simd.h"
