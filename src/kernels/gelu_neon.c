/* SPDX-License-Identifier: MIT
 * GELU and its gradient for NEON. This file instantiates gelu_simd.h with the vector types and operations of simd_neon.h.
 */
#include "kernels/simd_neon.h"
#include "kernels/gelu_simd.h"
