/* SPDX-License-Identifier: MIT
 * LayerNorm of float32 and bf16 for NEON. This file instantiates layernorm_simd.h with the vector types and operations of
 * simd_neon.h.
 */
#include "kernels/simd_neon.h"

#define NORM_BODY "kernels/layernorm_simd.h"
#include "kernels/norm_types.h"
