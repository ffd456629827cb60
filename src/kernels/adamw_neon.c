/* SPDX-License-Identifier: MIT
 * AdamW for NEON. This file instantiates adamw_simd.h with the vector types and operations of simd_neon.h.
 */
#include "kernels/simd_neon.h"
#include "kernels/adamw_simd.h"
