/* SPDX-License-Identifier: MIT
 * Conversions between float32, bf16 and int8 for NEON. This file instantiates convert_simd.h with the vector types and
 * operations of simd_neon.h.
 */
#include "kernels/simd_neon.h"
#include "kernels/convert_simd.h"
