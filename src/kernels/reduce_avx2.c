/* SPDX-License-Identifier: MIT
 * Column sums and the sum of squares for AVX2. This file instantiates reduce_simd.h with the vector types and operations of
 * simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/reduce_simd.h"
