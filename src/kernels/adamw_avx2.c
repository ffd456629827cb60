/* SPDX-License-Identifier: MIT
 * AdamW for AVX2. This file instantiates adamw_simd.h with the vector types and operations of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/adamw_simd.h"
