/* SPDX-License-Identifier: MIT
 * Column sums and the sum of squares for AVX-512: compiles reduce_simd.h with the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/reduce_simd.h"
