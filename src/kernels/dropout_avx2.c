/* SPDX-License-Identifier: MIT
 * Dropout of a row, AVX2 tier: dropout_simd.h on the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/dropout_simd.h"
