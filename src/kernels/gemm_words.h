/* SPDX-License-Identifier: MIT
 * Packing: lines of elements become columns of 32-bit words. A word is a float32 (copied; widened from bf16; or
 * rounded to bf16 and widened) or a pair of bf16 that are neighbours in k. Include simd_avx2.h or simd_avx512.h and define
 * transpose_lines first; the functions here are built from four parameters that a file fixes at compile time.
 */
#ifndef AOEI_KERNELS_GEMM_WORDS_H
#define AOEI_KERNELS_GEMM_WORDS_H

#include "kernels/kernels.h"

typedef enum word_kind {
    WORD_F32,     /* a float32 as it is, or a bf16 widened */
    WORD_ROUNDED, /* a float32 rounded to bf16 and widened */
    WORD_PAIR     /* two bf16 */
} word_kind;

enum { STAGE = 64 }; /* words of a line that are made before they are transposed */

/* n elements of either type as float32 with the value they have in a word. */
static inline vf load_elements(const void *src, aoei_dtype type, word_kind kind, size_t n) {
    if (type == AOEI_BF16)
        return vf_load_bf16_part(src, n);
    const vf x = vf_load_part(src, n);
    return kind == WORD_F32 ? x : vf_round_bf16(x);
}

static inline const void *element_at(const void *src, aoei_dtype type, size_t i) {
    return (const unsigned char *)src + i * aoei_dtype_size(type);
}

static inline float one_element(const void *src, aoei_dtype type, word_kind kind, size_t i) {
    if (type == AOEI_BF16)
        return aoei_bf16_to_f32(((const aoei_bf16 *)src)[i]);
    const float x = ((const float *)src)[i];
    return kind == WORD_F32 ? x : aoei_bf16_to_f32(aoei_bf16_from_f32(x));
}

static inline float pair_word(float low, float high) {
    uint32_t a, b;
    float word;
    memcpy(&a, &low, sizeof a);
    memcpy(&b, &high, sizeof b);
    a = a >> 16 | b;
    memcpy(&word, &a, sizeof word);
    return word;
}

/* Word w of a line of K elements, col elements apart. */
static inline float one_word(const void *src, aoei_dtype type, word_kind kind, size_t col, size_t w, size_t K) {
    if (kind != WORD_PAIR)
        return one_element(src, type, kind, w * col);
    const float low = one_element(src, type, kind, 2 * w * col);
    return pair_word(low, 2 * w + 1 < K ? one_element(src, type, kind, (2 * w + 1) * col) : 0.0f);
}

/* Lines side by side in memory: a word takes the same place of one row, or of two. */
static inline void pack_rows_of_lines(float *dst, size_t stride, const void *src, aoei_dtype type, word_kind kind, size_t col,
                                      size_t lines, size_t K) {
    const size_t step = kind == WORD_PAIR ? 2 : 1;
    for (size_t k = 0; k < K; k += step, dst += stride) {
        /* rows far apart are beyond the hardware's prefetchers */
        _mm_prefetch((const char *)element_at(src, type, (k + 16 < K ? k + 16 : k) * col), _MM_HINT_T0);
        const vf low = load_elements(element_at(src, type, k * col), type, kind, lines);
        if (kind == WORD_PAIR) {
            _mm_prefetch((const char *)element_at(src, type, (k + 17 < K ? k + 17 : k) * col), _MM_HINT_T0);
            const vf high = k + 1 < K ? load_elements(element_at(src, type, (k + 1) * col), type, kind, lines) : vf_zero();
            vf_store(dst, vf_pair_bf16(low, high));
        } else {
            vf_store(dst, low);
        }
    }
}

/* Lines that are contiguous each: words are made line by line and transposed. */
static inline void pack_contiguous_lines(float *dst, size_t stride, const void *src, aoei_dtype type, word_kind kind,
                                         size_t row, size_t lines, size_t K) {
    const size_t words = kind == WORD_PAIR ? (K + 1) / 2 : K, whole = kind == WORD_PAIR ? K / 2 : K;
    const int as_they_are = (type == AOEI_F32 && kind == WORD_F32) || (type == AOEI_BF16 && kind == WORD_PAIR);
    float stage[VF_LANES][STAGE];
    const float *line[VF_LANES];
    for (size_t w = 0; w < words;) {
        const size_t n = words - w < STAGE ? words - w : STAGE;
        size_t done = 0;
        if (as_they_are && w + n <= whole) {
            for (size_t i = 0; i < VF_LANES; i++)
                line[i] = (const float *)element_at(src, type, (i < lines ? i : 0) * row) + w;
        } else {
            for (size_t i = 0; i < VF_LANES; i++) {
                line[i] = stage[i < lines ? i : 0];
                if (i >= lines)
                    continue;
                const void *from = element_at(src, type, i * row);
                size_t j = 0;
                if (kind != WORD_PAIR) {
                    for (; j + VF_LANES <= n; j += VF_LANES)
                        vf_store(stage[i] + j, load_elements(element_at(from, type, w + j), type, kind, VF_LANES));
                } else if (type == AOEI_F32) {
                    for (; j + VF_LANES / 2 <= n && w + j + VF_LANES / 2 <= whole; j += VF_LANES / 2)
                        vf_store_bf16((aoei_bf16 *)(void *)(stage[i] + j), vf_load((const float *)from + 2 * (w + j)));
                }
                for (; j < n; j++)
                    stage[i][j] = one_word(element_at(from, type, 0), type, kind, 1, w + j, K);
            }
        }
        done = transpose_lines(dst, stride, line, n);
        for (; done < n; done++)
            for (size_t i = 0; i < VF_LANES; i++)
                memcpy(dst + done * stride + i, line[i] + done, sizeof *dst);
        dst += n * stride;
        w += n;
    }
}

static inline void pack_lines(float *dst, size_t stride, const void *src, aoei_dtype type, word_kind kind, size_t row,
                              size_t col, size_t lines, size_t K) {
    if (row == 1) {
        pack_rows_of_lines(dst, stride, src, type, kind, col, lines, K);
    } else if (col == 1) {
        pack_contiguous_lines(dst, stride, src, type, kind, row, lines, K);
    } else {
        const size_t words = kind == WORD_PAIR ? (K + 1) / 2 : K;
        for (size_t w = 0; w < words; w++)
            for (size_t i = 0; i < VF_LANES; i++)
                dst[w * stride + i] = one_word(element_at(src, type, (i < lines ? i : 0) * row), type, kind, col, w, K);
    }
}

#endif
