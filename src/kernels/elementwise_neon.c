/* SPDX-License-Identifier: MIT
 * Addition and multiplication for NEON. This file instantiates elementwise_simd.h with the vector types and operations of
 * simd_neon.h.
 */
#include "kernels/simd_neon.h"
#include "kernels/elementwise_simd.h"
