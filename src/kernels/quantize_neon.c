/* SPDX-License-Identifier: MIT
 * Quantization of rows to int8 for NEON. This file instantiates quantize_simd.h with the vector types and operations of
 * simd_neon.h.
 */
#include "kernels/simd_neon.h"
#include "kernels/quantize_simd.h"
