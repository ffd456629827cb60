/* SPDX-License-Identifier: MIT
 * RMSNorm of float32 and bf16 for AVX-512: compiles rmsnorm_simd.h with the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"

#define NORM_BODY "kernels/rmsnorm_simd.h"
#include "kernels/norm_types.h"
