/* SPDX-License-Identifier: MIT
 * Addition and multiplication for AVX-512. This file instantiates elementwise_simd.h with the vector types and operations of
 * simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/elementwise_simd.h"
