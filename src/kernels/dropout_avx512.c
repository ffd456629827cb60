/* SPDX-License-Identifier: MIT
 * Dropout of a row, AVX-512 tier: dropout_simd.h on the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/dropout_simd.h"
