/* SPDX-License-Identifier: MIT
 * AdamW for AVX-512. This file instantiates adamw_simd.h with the vector types and operations of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/adamw_simd.h"
