/* SPDX-License-Identifier: MIT
 * The gated linear unit and its gradient for NEON. This file instantiates glu_simd.h with the vector types and operations of
 * simd_neon.h.
 */
#include "kernels/simd_neon.h"
#include "kernels/glu_simd.h"
