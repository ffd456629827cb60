/* SPDX-License-Identifier: MIT
 * Addition and multiplication, AVX-512 tier: elementwise_simd.h on the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/elementwise_simd.h"
