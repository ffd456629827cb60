/* SPDX-License-Identifier: MIT
 * Addition and multiplication for AVX2: compiles elementwise_simd.h with the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/elementwise_simd.h"
