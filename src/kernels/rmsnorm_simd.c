/* SPDX-License-Identifier: MIT
 * RMSNorm of float32 and bf16, vectorized for AVX2, AVX-512 and NEON.
 */
#define NORM_BODY "kernels/rmsnorm_body_simd.h"
#include "kernels/norm_types.h"
