/* SPDX-License-Identifier: MIT
 * AdamW, AVX2 tier: adamw_simd.h on the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/adamw_simd.h"
