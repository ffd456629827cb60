/* SPDX-License-Identifier: MIT
 * SiLU and its gradient for NEON. This file instantiates silu_simd.h with the vector types and operations of simd_neon.h.
 */
#include "kernels/simd_neon.h"
#include "kernels/silu_simd.h"
