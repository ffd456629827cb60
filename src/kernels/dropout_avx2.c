/* SPDX-License-Identifier: MIT
 * Dropout of a row for AVX2: compiles dropout_simd.h with the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/dropout_simd.h"
