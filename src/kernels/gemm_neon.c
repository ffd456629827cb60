/* SPDX-License-Identifier: MIT
 * Matmul kernels for NEON. The bf16 matmul is emulated in float32. This file instantiates gemm_simd.h for tiles of up
 * to 6 x 16 elements of the output matrix C. The accumulators of a tile occupy 24 registers.
 */
#include "kernels/simd_neon.h"
#include "kernels/gemm_neon.h"

#define GEMM_ROWS 6

#define GEMM_STEP(x, b, sum)  vf_fma(x, b, sum)
#define GEMM_START(t, offset) vf_zero()
#define GEMM_EPILOGUE         aoei_gemm_epilogue_neon
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
