/* SPDX-License-Identifier: MIT
 * LayerNorm of float32 and bf16 for AVX-512. This file instantiates layernorm_simd.h with the vector types and operations of
 * simd_avx512.h.
 */
#include "kernels/simd_avx512.h"

#define NORM_BODY "kernels/layernorm_simd.h"
#include "kernels/norm_types.h"
