/* SPDX-License-Identifier: MIT
 * LayerNorm of float32 and bf16 for AVX2. This file instantiates layernorm_simd.h with the vector types and operations of
 * simd_avx2.h.
 */
#include "kernels/simd_avx2.h"

#define NORM_BODY "kernels/layernorm_simd.h"
#include "kernels/norm_types.h"
