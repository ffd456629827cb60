/* SPDX-License-Identifier: MIT
 * RMSNorm of float32 and bf16 for NEON. This file instantiates rmsnorm_simd.h with the vector types and operations of
 * simd_neon.h.
 */
#include "kernels/simd_neon.h"

#define NORM_BODY "kernels/rmsnorm_simd.h"
#include "kernels/norm_types.h"
