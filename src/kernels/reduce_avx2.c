/* SPDX-License-Identifier: MIT
 * Column sums and the sum of squares for AVX2: compiles reduce_simd.h with the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/reduce_simd.h"
