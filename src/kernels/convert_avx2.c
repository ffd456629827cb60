/* SPDX-License-Identifier: MIT
 * float32 to bf16 and back, AVX2 tier: convert_simd.h on the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/convert_simd.h"
