/* SPDX-License-Identifier: MIT
 * Dropout of a row for AVX2. This file instantiates dropout_simd.h with the vector types and operations of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/dropout_simd.h"
