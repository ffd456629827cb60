/* SPDX-License-Identifier: MIT
 * Column sums and the sum of squares, AVX-512 tier: reduce_simd.h on the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/reduce_simd.h"
