/* SPDX-License-Identifier: MIT
 * Matmul kernels for the ARM64 instructions that multiply a 2 x n matrix of A by an n x 2 matrix of B and add the
 * product to a 2 x 2 matrix of running sums: BFMMLA (bf16, n = 4) and SMMLA (int8, n = 8). Operands are packed as words
 * of n elements with adjacent k, which have 64 bits. A register therefore contains the words of two adjacent rows of A
 * or of two adjacent columns of B. A tile has up to 6 x 16 elements of the output matrix C, whose sums occupy 24
 * registers. The two rows of a register of sums are computed independently of each other, so results do not depend on
 * the tile size.
 *
 * Include simd_neon.h first. Before including this file, define these macros: GEMM_WORD, which is the number n of
 * elements of a word, and GEMM_STEP(a, b, sum), which adds the product of the words a of two rows and the words b of
 * two columns to the four sums of `sum`. Registers are float32x4_t for words and sums of any type; the functions that
 * load, move and store them do not change their bits. gemm_mmla_ops.h defines the kernels.
 */
#pragma once

#include "kernels/gemm_block.h"

enum {
    ROWS = 6,
    PANEL = 2 * VF_LANES,
    WORD_FLOATS = 2, /* size of a word in floats */
    M_BLOCK = 264,
    K_BLOCK = 192 /* words */
};

static inline const void *element_at(const void *src, aoei_dtype type, size_t i) {
    return (const unsigned char *)src + i * aoei_dtype_size(type);
}

/* Loads n <= 2 * GEMM_WORD adjacent elements of src as elements of two words, and sets the remaining elements of the
 * words to
 * 0. float32 elements are rounded to bf16. */
static inline uint8x16_t load_elements(const void *src, aoei_dtype type, size_t n) {
    if (type == AOEI_F32)
        return vreinterpretq_u8_u16(vf_narrow(vf_load_part(src, n)));
    if (n == 2 * GEMM_WORD)
        return vld1q_u8(src);
    uint8_t x[16] = {0};
    memcpy(x, src, n * aoei_dtype_size(type));
    return vld1q_u8(x);
}

/* Stores the words of two adjacent lines. */
static inline void store_words(float *dst, uint32x4_t words) {
    vst1q_f32(dst, vreinterpretq_f32_u32(words));
}

/* Packs lines whose elements are contiguous in memory. Each iteration packs two words of each line. */
static inline void pack_contiguous(float *dst, size_t stride, const void *src, aoei_dtype type, size_t row,
                                   size_t lines, size_t K) {
    for (size_t k = 0; k < K; k += 2 * GEMM_WORD, dst += 2 * stride * WORD_FLOATS) {
        const size_t n = K - k < 2 * GEMM_WORD ? K - k : 2 * GEMM_WORD;
        uint64x2_t x[VF_LANES]; /* x[i]: elements [k, k + n) of line i */
        for (size_t i = 0; i < VF_LANES; i++)
            x[i] = vreinterpretq_u64_u8(load_elements(element_at(src, type, (i < lines ? i : 0) * row + k), type, n));
        for (size_t i = 0; i < VF_LANES; i += 2)
            store_words(dst + i * WORD_FLOATS, vreinterpretq_u32_u64(vzip1q_u64(x[i], x[i + 1])));
        for (size_t i = 0; n > GEMM_WORD && i < VF_LANES; i += 2)
            store_words(dst + (stride + i) * WORD_FLOATS, vreinterpretq_u32_u64(vzip2q_u64(x[i], x[i + 1])));
    }
}

/* Running sums of the two halves of a row of a tile, left and right. */
typedef struct sums_row {
    vf left, right;
} sums_row;

static inline size_t left_columns(const aoei_gemm_tile *t) {
    return t->columns < VF_LANES ? t->columns : VF_LANES;
}

/* Loads the sums of row i of a tile. A row after the last row is 0. */
static inline sums_row load_row(const aoei_gemm_tile *t, size_t i) {
    const float *sums = t->sums + i * t->sums_row;
    const size_t left = left_columns(t);
    if (i >= t->rows)
        return (sums_row){vf_zero(), vf_zero()};
    return (sums_row){vf_load_part(sums, left), vf_load_part(sums + left, t->columns - left)};
}

/* Stores the sums of row i of a tile. A row after the last row is not stored. */
static inline void store_row(const aoei_gemm_tile *t, size_t i, sums_row x) {
    float *sums = t->sums + i * t->sums_row;
    const size_t left = left_columns(t);
    if (i >= t->rows)
        return;
    vf_store_part(sums, left, x.left);
    vf_store_part(sums + left, t->columns - left, x.right);
}

/* Return the two lower or the two upper floats of x, followed by those of y. */
static inline float32x4_t lower(float32x4_t x, float32x4_t y) {
    return vreinterpretq_f32_f64(vzip1q_f64(vreinterpretq_f64_f32(x), vreinterpretq_f64_f32(y)));
}

static inline float32x4_t upper(float32x4_t x, float32x4_t y) {
    return vreinterpretq_f32_f64(vzip2q_f64(vreinterpretq_f64_f32(x), vreinterpretq_f64_f32(y)));
}

/* The register c##p##q contains the sums of rows 2 p and 2 p + 1 and of columns 2 q and 2 q + 1: first the two sums of
 * the first row, then those of the second row. */
#define ZERO(p)                                                                                                        \
    float32x4_t c##p##0 = vdupq_n_f32(0), c##p##1 = c##p##0, c##p##2 = c##p##0, c##p##3 = c##p##0;                     \
    float32x4_t c##p##4 = c##p##0, c##p##5 = c##p##0, c##p##6 = c##p##0, c##p##7 = c##p##0;
#define LOAD(p)                                                                                                        \
    {                                                                                                                  \
        const sums_row x = load_row(t, 2 * p), y = load_row(t, 2 * p + 1);                                             \
        c##p##0 = lower(x.left.lo, y.left.lo);                                                                         \
        c##p##1 = upper(x.left.lo, y.left.lo);                                                                         \
        c##p##2 = lower(x.left.hi, y.left.hi);                                                                         \
        c##p##3 = upper(x.left.hi, y.left.hi);                                                                         \
        c##p##4 = lower(x.right.lo, y.right.lo);                                                                       \
        c##p##5 = upper(x.right.lo, y.right.lo);                                                                       \
        c##p##6 = lower(x.right.hi, y.right.hi);                                                                       \
        c##p##7 = upper(x.right.hi, y.right.hi);                                                                       \
    }
#define STORE(p)                                                                                                       \
    {                                                                                                                  \
        const vf left = {lower(c##p##0, c##p##1), lower(c##p##2, c##p##3)};                                            \
        const vf right = {lower(c##p##4, c##p##5), lower(c##p##6, c##p##7)};                                           \
        const vf next_left = {upper(c##p##0, c##p##1), upper(c##p##2, c##p##3)};                                       \
        const vf next_right = {upper(c##p##4, c##p##5), upper(c##p##6, c##p##7)};                                      \
        store_row(t, 2 * p, (sums_row){left, right});                                                                  \
        store_row(t, 2 * p + 1, (sums_row){next_left, next_right});                                                    \
    }
#define LOAD_A(p) const float32x4_t a##p = vld1q_f32(a + 4 * p);

/* STEP_P(q, r) adds the products of P row pairs and of the column pairs q and r. Without AOEI_ORDER_LOADS, compilers
 * load all column pairs before the first product, and then have too few registers for the sums. */
#define STEP_1(q, r)                                                                                                   \
    AOEI_ORDER_LOADS(b);                                                                                               \
    x = vld1q_f32(b + 4 * q);                                                                                          \
    y = vld1q_f32(b + 4 * r);                                                                                          \
    c0##q = GEMM_STEP(a0, x, c0##q);                                                                                   \
    c0##r = GEMM_STEP(a0, y, c0##r);
#define STEP_2(q, r)                                                                                                   \
    STEP_1(q, r)                                                                                                       \
    c1##q = GEMM_STEP(a1, x, c1##q);                                                                                   \
    c1##r = GEMM_STEP(a1, y, c1##r);
#define STEP_3(q, r)                                                                                                   \
    STEP_2(q, r)                                                                                                       \
    c2##q = GEMM_STEP(a2, x, c2##q);                                                                                   \
    c2##r = GEMM_STEP(a2, y, c2##r);
#define ALL_COLUMNS(STEP) STEP(0, 1) STEP(2, 3) STEP(4, 5) STEP(6, 7)

/* Defines the tile kernel for R rows, which form PAIRS pairs. If R is odd, the second row of the last pair contains the
 * word after the last row, which may be undefined; its sums are not stored. */
#define TILE(R, PAIRS)                                                                                                 \
    static void tile_##R(const aoei_gemm_tile *t) {                                                                    \
        const float *a = t->a, *b = t->b;                                                                              \
        const size_t b_row = t->b_row;                                                                                 \
        AOEI_ROWS_##PAIRS(ZERO);                                                                                       \
        if (!t->first) {                                                                                               \
            AOEI_ROWS_##PAIRS(LOAD);                                                                                   \
        }                                                                                                              \
        for (size_t k = t->K; k > 0; k--) {                                                                            \
            float32x4_t x, y;                                                                                          \
            AOEI_ROWS_##PAIRS(LOAD_A);                                                                                 \
            ALL_COLUMNS(STEP_##PAIRS);                                                                                 \
            a += R * WORD_FLOATS;                                                                                      \
            b += b_row;                                                                                                \
        }                                                                                                              \
        AOEI_ROWS_##PAIRS(STORE);                                                                                      \
    }

TILE(1, 1)
TILE(2, 1)
TILE(3, 2)
TILE(4, 2)
TILE(5, 3)
TILE(6, 3)

static aoei_gemm_tile_fn *const tiles[ROWS + 1] = {NULL, tile_1, tile_2, tile_3, tile_4, tile_5, tile_6};
