/* SPDX-License-Identifier: MIT
 * AdamW for AVX-512: compiles adamw_simd.h with the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/adamw_simd.h"
