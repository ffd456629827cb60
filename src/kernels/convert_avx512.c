/* SPDX-License-Identifier: MIT
 * float32 to bf16 and back, AVX-512 tier: convert_simd.h on the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/convert_simd.h"
