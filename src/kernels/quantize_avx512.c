/* SPDX-License-Identifier: MIT
 * Quantization of rows to int8 for AVX-512. This file instantiates quantize_simd.h with the vector types and operations of
 * simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/quantize_simd.h"
