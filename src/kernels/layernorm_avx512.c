/* SPDX-License-Identifier: MIT
 * LayerNorm forward and backward, AVX-512 tier: layernorm_simd.h on the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/layernorm_simd.h"
