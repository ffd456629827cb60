/* SPDX-License-Identifier: MIT
 * LayerNorm of float32 and bf16, vectorized for AVX2, AVX-512 and NEON.
 */
#define NORM_BODY "kernels/layernorm_body_simd.h"
#include "kernels/norm_types.h"
