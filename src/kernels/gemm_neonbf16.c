/* SPDX-License-Identifier: MIT
 * bf16 matmul kernels for ARM64 CPUs with FEAT_BF16. The instruction BFMMLA multiplies a 2 x 4 matrix of A by a 4 x 2
 * matrix of B and adds the product to a 2 x 2 matrix of running sums. For each sum, it first adds the products of
 * elements 0 and 1 to each other and to the sum, then the products of elements 2 and 3. Operands are packed as words of
 * four bf16 elements with adjacent k (gemm_mmla.h).
 */
#include "kernels/simd_neon.h"

#define GEMM_WORD            4
#define GEMM_STEP(a, b, sum) vbfmmlaq_f32(sum, vreinterpretq_bf16_f32(a), vreinterpretq_bf16_f32(b))
#include "kernels/gemm_mmla.h"

/* Packs lines if the elements with equal k of all lines are adjacent in memory. */
static inline void pack_adjacent_lines(float *dst, size_t stride, const void *src, aoei_dtype type, size_t col,
                                       size_t lines, size_t K) {
    for (size_t k = 0; k < K; k += GEMM_WORD, dst += stride * WORD_FLOATS) {
        uint16x8_t x[GEMM_WORD]; /* x[j]: elements k + j of all lines */
        for (size_t j = 0; j < GEMM_WORD; j++)
            x[j] = k + j < K ? vreinterpretq_u16_u8(load_elements(element_at(src, type, (k + j) * col), type, lines))
                             : vdupq_n_u16(0);
        const uint32x4_t a = vreinterpretq_u32_u16(vzip1q_u16(x[0], x[1])),
                         b = vreinterpretq_u32_u16(vzip1q_u16(x[2], x[3]));
        const uint32x4_t c = vreinterpretq_u32_u16(vzip2q_u16(x[0], x[1])),
                         d = vreinterpretq_u32_u16(vzip2q_u16(x[2], x[3]));
        store_words(dst, vzip1q_u32(a, b));
        store_words(dst + 4, vzip2q_u32(a, b));
        store_words(dst + 8, vzip1q_u32(c, d));
        store_words(dst + 12, vzip2q_u32(c, d));
    }
}

/* Packs lines whose elements are adjacent neither along k nor across lines. */
static inline void pack_scattered(float *dst, size_t stride, const void *src, aoei_dtype type, size_t row, size_t col,
                                  size_t lines, size_t K) {
    for (size_t k = 0; k < K; k += GEMM_WORD, dst += stride * WORD_FLOATS)
        for (size_t i = 0; i < lines; i++) {
            aoei_bf16 word[GEMM_WORD] = {0};
            for (size_t j = 0; j < GEMM_WORD && k + j < K; j++) {
                const void *x = element_at(src, type, i * row + (k + j) * col);
                word[j] = type == AOEI_BF16 ? *(const aoei_bf16 *)x : aoei_bf16_from_f32(*(const float *)x);
            }
            memcpy(dst + i * WORD_FLOATS, word, sizeof word);
        }
}

static inline void pack_lines(float *dst, size_t stride, const void *src, aoei_dtype type, size_t row, size_t col,
                              size_t lines, size_t K) {
    if (row == 1)
        pack_adjacent_lines(dst, stride, src, type, col, lines, K);
    else if (col == 1)
        pack_contiguous(dst, stride, src, type, row, lines, K);
    else
        pack_scattered(dst, stride, src, type, row, col, lines, K);
}

static void pack_lines_f32(float *dst, size_t stride, const void *src, size_t row, size_t col, size_t lines, size_t K) {
    pack_lines(dst, stride, src, AOEI_F32, row, col, lines, K);
}

static void pack_lines_bf16(float *dst, size_t stride, const void *src, size_t row, size_t col, size_t lines,
                            size_t K) {
    pack_lines(dst, stride, src, AOEI_BF16, row, col, lines, K);
}

#define GEMM_SYMBOL(part) aoei_gemm_bf16##part##_neonbf16
#define GEMM_TYPE         AOEI_BF16
#define GEMM_PACK                                                                                                      \
    { pack_lines_f32, pack_lines_bf16 }
#include "kernels/gemm_mmla_ops.h"
