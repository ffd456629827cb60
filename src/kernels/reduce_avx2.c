/* SPDX-License-Identifier: MIT
 * Column sums and the sum of squares, AVX2 tier: reduce_simd.h on the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/reduce_simd.h"
