/* SPDX-License-Identifier: MIT
 * RMSNorm of float32 and bf16, AVX2 tier: rmsnorm_simd.h on the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"

#define NORM_BODY "kernels/rmsnorm_simd.h"
#include "kernels/norm_types.h"
