/* SPDX-License-Identifier: MIT
 * int8 matmul kernels for ARM64 CPUs with FEAT_I8MM. The instruction SMMLA multiplies a 2 x 8 matrix of A by an 8 x 2
 * matrix of B and adds the product to a 2 x 2 matrix of int32 sums. Operands are packed as words of eight int8 elements
 * with adjacent k (gemm_mmla.h).
 */
#include "kernels/simd_neon.h"

#define GEMM_WORD 8

/* Adds the product of the words a of two rows and the words b of two columns to the running sums, which are int32
 * values. */
static inline float32x4_t add_products(float32x4_t a, float32x4_t b, float32x4_t sum) {
    return vreinterpretq_f32_s32(
        vmmlaq_s32(vreinterpretq_s32_f32(sum), vreinterpretq_s8_f32(a), vreinterpretq_s8_f32(b)));
}

#define GEMM_STEP(a, b, sum) add_products(a, b, sum)
#include "kernels/gemm_mmla.h"

static void pack_lines_int8(float *dst, size_t stride, const void *src, size_t row, size_t col, size_t lines,
                            size_t K) {
    (void)col; /* the elements of a line are contiguous */
    pack_contiguous(dst, stride, src, AOEI_I8, row, lines, K);
}

#define GEMM_SYMBOL(part) aoei_gemm_int8##part##_neonbf16
#define GEMM_TYPE         AOEI_I8
#define GEMM_PACK                                                                                                      \
    { NULL, NULL, pack_lines_int8 }
#include "kernels/gemm_mmla_ops.h"
