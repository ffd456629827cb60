/* SPDX-License-Identifier: MIT
 * Rotary positions for NEON. This file instantiates rope_simd.h with the vector types and operations of simd_neon.h.
 */
#include "kernels/simd_neon.h"
#include "kernels/rope_simd.h"
