/* SPDX-License-Identifier: MIT
 * LayerNorm of float32 and bf16 for AVX2: compiles layernorm_simd.h with the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"

#define NORM_BODY "kernels/layernorm_simd.h"
#include "kernels/norm_types.h"
