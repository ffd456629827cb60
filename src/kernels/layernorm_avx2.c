/* SPDX-License-Identifier: MIT
 * LayerNorm forward and backward, AVX2 tier: layernorm_simd.h on the vectors of simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/layernorm_simd.h"
