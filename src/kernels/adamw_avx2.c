/* SPDX-License-Identifier: MIT
 * AdamW for AVX2: compiles adamw_simd.h with the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/adamw_simd.h"
