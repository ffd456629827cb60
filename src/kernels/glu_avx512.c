/* SPDX-License-Identifier: MIT
 * The gated linear unit and its gradient for AVX-512: compiles glu_simd.h with the vectors of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/glu_simd.h"
