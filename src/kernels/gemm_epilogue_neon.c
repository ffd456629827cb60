/* SPDX-License-Identifier: MIT
 * Matmul epilogue for NEON. This file instantiates gemm_epilogue_simd.h with the vector types and operations of simd_neon.h.
 */
#include "kernels/simd_neon.h"
#include "kernels/gemm_epilogue_simd.h"
