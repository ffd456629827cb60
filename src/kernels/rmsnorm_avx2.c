/* SPDX-License-Identifier: MIT
 * RMSNorm of float32 and bf16 for AVX2. This file instantiates rmsnorm_simd.h with the vector types and operations of
 * simd_avx2.h.
 */
#include "kernels/simd_avx2.h"

#define NORM_BODY "kernels/rmsnorm_simd.h"
#include "kernels/norm_types.h"
