/* SPDX-License-Identifier: MIT
 * Addition and multiplication, AVX2 tier: elementwise_simd.h on the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/elementwise_simd.h"
