/* SPDX-License-Identifier: MIT
 * Softmax and its gradient for NEON. This file instantiates softmax_simd.h with the vector types and operations of simd_neon.h.
 */
#include "kernels/simd_neon.h"
#include "kernels/softmax_simd.h"
