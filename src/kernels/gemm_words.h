/* SPDX-License-Identifier: MIT
 * Packing of operands for the matmul kernels. A line is a row of A or a column of B, with K elements. Packing converts
 * the elements of a line to 32-bit words, in one of the formats that word_kind lists, and stores several lines as the
 * columns of a matrix of words. Include simd_avx2.h, simd_avx512.h or simd_neon.h and define transpose_lines before
 * including this file. Callers pass the element type of the source and the word kind as compile-time constants.
 */
#pragma once

#include <string.h>

#include "kernels/kernels.h"

typedef enum word_kind {
    WORD_F32,     /* a float32: an unchanged float32 element, or a bf16 element converted to float32 */
    WORD_ROUNDED, /* a float32: a float32 element rounded to bf16 and converted back */
    WORD_PAIR,    /* two bf16 elements that are adjacent along k; the lower half of the word is the element with the
                     smaller k */
    WORD_INT16,   /* two int8 elements that are adjacent along k, converted to int16, in the order of WORD_PAIR */
    WORD_INT8     /* four int8 elements that are adjacent along k; the lowest byte is the element with the smallest k */
} word_kind;

enum { STAGE = 64 }; /* number of words per line that pack_contiguous converts before it transposes them */

static inline const void *element_at(const void *src, aoei_dtype type, size_t i) {
    return (const unsigned char *)src + i * aoei_dtype_size(type);
}

static inline size_t elements_of_word(word_kind kind) {
    return kind == WORD_INT8 ? 4 : kind == WORD_PAIR || kind == WORD_INT16 ? 2 : 1;
}

static inline size_t words_of(word_kind kind, size_t K) {
    return (K + elements_of_word(kind) - 1) / elements_of_word(kind);
}

/* Loads n elements of src and returns them as float32. If kind is WORD_ROUNDED, float32 elements are rounded to bf16
 * and converted back. */
static inline vf load_elements(const void *src, aoei_dtype type, word_kind kind, size_t n) {
    if (type == AOEI_BF16)
        return n == VF_LANES ? vf_load_bf16(src) : vf_load_bf16_part(src, n);
    const vf x = n == VF_LANES ? vf_load(src) : vf_load_part(src, n);
    return kind == WORD_F32 ? x : vf_round_bf16(x);
}

/* Packs lines if the elements with equal k of all lines are adjacent in memory. Each stored vector has one word per
 * line. A word contains the element of one k or, if kind is WORD_PAIR, of two adjacent k. */
static inline void pack_adjacent_lines(float *dst, size_t stride, const void *src, aoei_dtype type, word_kind kind,
                                       size_t col, size_t lines, size_t K) {
    const size_t step = kind == WORD_PAIR ? 2 : 1, ahead = 16; /* prefetch distance along k; the accesses are too far
                                                                  apart for hardware prefetchers */
    for (size_t k = 0; k < K; k += step, dst += stride) {
        const unsigned char *row = element_at(src, type, k * col),
                            *next = k + 1 < K ? row + col * aoei_dtype_size(type) : row;
        const size_t later = k + ahead + 1 < K ? ahead * col * aoei_dtype_size(type) : 0;
        AOEI_PREFETCH_L1(row + later);
        vf x = load_elements(row, type, kind, lines);
        if (kind == WORD_PAIR) {
            AOEI_PREFETCH_L1(next + later);
            x = vf_pair_bf16(x, k + 1 < K ? load_elements(next, type, kind, lines) : vf_zero());
        }
        vf_store(dst, x);
    }
}

/* Does the same as copy_words for a line of int8 elements. */
static inline void copy_int8_words(float *dst, const int8_t *line, word_kind kind, size_t w, size_t n, size_t K) {
    const size_t per_word = elements_of_word(kind), left = K - per_word * w;
    const size_t elements = left < per_word * n ? left : per_word * n;
    const int8_t *src = line + per_word * w;
    size_t i = 0;
    if (kind == WORD_INT8) {
        memcpy(dst, src, elements);
        memset((unsigned char *)dst + elements, 0, per_word * n - elements);
        return;
    }
    for (; i + 2 * VF_LANES <= elements; i += 2 * VF_LANES)
        vf_store(dst + i / 2, vf_widen_int8(src + i));
    if (i < elements) {
        int8_t last[2 * VF_LANES] = {0};
        memcpy(last, src + i, elements - i);
        vf_store_part(dst + i / 2, n - i / 2, vf_widen_int8(last));
    }
}

/* Converts elements of one line, which is contiguous and has K elements, to words [w, w + n) and writes them to dst. */
static inline void copy_words(float *dst, const void *line, aoei_dtype type, word_kind kind, size_t w, size_t n,
                              size_t K) {
    if (type == AOEI_I8) {
        copy_int8_words(dst, line, kind, w, n, K);
        return;
    }
    if (kind != WORD_PAIR) {
        const void *src = element_at(line, type, w);
        size_t i = 0;
        for (; i + VF_LANES <= n; i += VF_LANES)
            vf_store(dst + i, load_elements(element_at(src, type, i), type, kind, VF_LANES));
        if (i < n)
            vf_store_part(dst + i, n - i, load_elements(element_at(src, type, i), type, kind, n - i));
        return;
    }
    aoei_bf16 *halves = (aoei_bf16 *)(void *)dst;
    const size_t elements = 2 * (w + n) <= K ? 2 * n : K - 2 * w;
    const void *src = element_at(line, type, 2 * w);
    if (type == AOEI_BF16) {
        memcpy(halves, src, elements * sizeof *halves);
    } else {
        size_t i = 0;
        for (; i + VF_LANES <= elements; i += VF_LANES)
            vf_store_bf16(halves + i, vf_load((const float *)src + i));
        if (i < elements)
            vf_store_bf16_part(halves + i, elements - i, vf_load_part((const float *)src + i, elements - i));
    }
    if (elements < 2 * n)
        halves[elements] = 0;
}

static inline void transpose_words(float *dst, size_t stride, const float *const line[VF_LANES], size_t words) {
    for (size_t k = transpose_lines(dst, stride, line, words); k < words; k++)
        for (size_t i = 0; i < VF_LANES; i++)
            memcpy(dst + k * stride + i, line[i] + k, sizeof *dst);
}

/* Packs lines whose elements are contiguous in memory. If the elements in memory already have the format `kind`,
 * transposes the lines directly. Otherwise first converts the elements into a buffer, then transposes the buffer. */
static inline void pack_contiguous(float *dst, size_t stride, const void *src, aoei_dtype type, word_kind kind,
                                   size_t row, size_t lines, size_t K) {
    const size_t words = words_of(kind, K);
    float copies[VF_LANES][STAGE];
    const float *line[VF_LANES];
    size_t w = 0;
    if (lines == 1 && stride == 1) {
        copy_words(dst, src, type, kind, 0, words, K);
        return;
    }
    if (kind == (type == AOEI_BF16 ? WORD_PAIR : type == AOEI_I8 ? WORD_INT8 : WORD_F32)) {
        for (size_t i = 0; i < VF_LANES; i++)
            line[i] = element_at(src, type, (i < lines ? i : 0) * row);
        w = K / elements_of_word(kind);
        transpose_words(dst, stride, line, w);
    }
    for (size_t i = 0; i < VF_LANES; i++)
        line[i] = copies[i < lines ? i : 0];
    for (size_t n; w < words; w += n) {
        n = words - w < STAGE ? words - w : STAGE;
        for (size_t i = 0; i < lines || i == 0; i++)
            copy_words(copies[i], element_at(src, type, i * row), type, kind, w, n, K);
        transpose_words(dst + w * stride, stride, line, n);
    }
}

static inline float scattered_element(const void *src, aoei_dtype type, word_kind kind, size_t i) {
    if (type == AOEI_BF16)
        return aoei_bf16_to_f32(((const aoei_bf16 *)src)[i]);
    const float x = ((const float *)src)[i];
    return kind == WORD_F32 ? x : aoei_bf16_to_f32(aoei_bf16_from_f32(x));
}

/* Packs lines whose elements are adjacent neither along k nor across lines. */
static inline void pack_scattered(float *dst, size_t stride, const void *src, aoei_dtype type, word_kind kind,
                                  size_t row, size_t col, size_t lines, size_t K) {
    for (size_t w = 0; w < words_of(kind, K); w++)
        for (size_t i = 0; i < VF_LANES; i++) {
            const void *line = element_at(src, type, (i < lines ? i : 0) * row);
            if (kind == WORD_PAIR) {
                const float low = scattered_element(line, type, kind, 2 * w * col);
                const float high = 2 * w + 1 < K ? scattered_element(line, type, kind, (2 * w + 1) * col) : 0.0f;
                const aoei_bf16 pair[2] = {aoei_bf16_from_f32(low), aoei_bf16_from_f32(high)};
                memcpy(dst + w * stride + i, pair, sizeof pair);
            } else {
                dst[w * stride + i] = scattered_element(line, type, kind, w * col);
            }
        }
}

static inline void pack_lines(float *dst, size_t stride, const void *src, aoei_dtype type, word_kind kind, size_t row,
                              size_t col, size_t lines, size_t K) {
    if (row == 1)
        pack_adjacent_lines(dst, stride, src, type, kind, col, lines, K);
    else if (col == 1)
        pack_contiguous(dst, stride, src, type, kind, row, lines, K);
    else
        pack_scattered(dst, stride, src, type, kind, row, col, lines, K);
}
