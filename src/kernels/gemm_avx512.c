/* SPDX-License-Identifier: MIT
 * Matmul kernels for AVX-512. The bf16 matmul is emulated in float32. This file instantiates gemm_simd.h for tiles of
 * up to 14 x 32 elements of the output matrix C. The accumulators of a tile occupy 28 registers. It includes
 * transpose_avx512.h, because gemm_simd.h needs transpose_lines to pack operands.
 */
#include "kernels/simd_avx512.h"
#include "kernels/transpose_avx512.h"

#define GEMM_ROWS           14
#define GEMM_PREFETCH_TILES 2

#define GEMM_STEP(x, b, sum)  vf_fma(x, b, sum)
#define GEMM_START(t, offset) vf_zero()
#define GEMM_EPILOGUE         aoei_gemm_epilogue_avx512
#include "kernels/gemm_simd.h"

#define GEMM_OP          gemm_f32
#define GEMM_TYPE        AOEI_F32
#define GEMM_WORD        1
#define GEMM_KIND        WORD_F32
#define GEMM_KIND_OF_F32 WORD_F32
#include "kernels/gemm_ops.h"

#define GEMM_OP          gemm_bf16
#define GEMM_TYPE        AOEI_BF16
#define GEMM_WORD        1
#define GEMM_KIND        WORD_F32
#define GEMM_KIND_OF_F32 WORD_ROUNDED
#include "kernels/gemm_ops.h"
