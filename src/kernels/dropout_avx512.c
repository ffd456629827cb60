/* SPDX-License-Identifier: MIT
 * Dropout of a row for AVX-512: compiles dropout_simd.h with the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/dropout_simd.h"
