/* SPDX-License-Identifier: MIT
 * Column sums and the sum of squares for NEON. This file instantiates reduce_simd.h with the vector types and operations of
 * simd_neon.h.
 */
#include "kernels/simd_neon.h"
#include "kernels/reduce_simd.h"
