/* SPDX-License-Identifier: MIT
 * AdamW, AVX-512 tier: adamw_simd.h on the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/adamw_simd.h"
