/* SPDX-License-Identifier: MIT
 * Addition and multiplication for AVX2. This file instantiates elementwise_simd.h with the vector types and operations of
 * simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/elementwise_simd.h"
