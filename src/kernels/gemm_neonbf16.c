/* SPDX-License-Identifier: MIT
 * bf16 matmul kernels for ARM64 CPUs with FEAT_BF16. The instruction BFMMLA multiplies a 2 x 4 matrix of A by a 4 x 2 matrix of
 * B and adds the product to a 2 x 2 matrix of running sums. For each sum, it first adds the products of elements 0 and 1 to
 * each other and to the sum, then the products of elements 2 and 3. Operands are packed as words of four bf16 elements with
 * adjacent k, so that a register contains the words of two adjacent rows of A or of two adjacent columns of B. A tile has up to
 * 6 x 16 elements of the output matrix C, whose sums occupy 24 registers. The two rows of a register of sums are computed
 * independently of each other, so results do not depend on the tile size.
 */
#include "kernels/simd_neon.h"

#include "kernels/gemm_block.h"

enum {
    ROWS = 6,
    PANEL = 2 * VF_LANES,
    WORD = 4,        /* elements of a word */
    WORD_FLOATS = 2, /* size of a word in floats */
    M_BLOCK = 264,
    K_BLOCK = 192 /* words */
};

/* Loads n <= 8 adjacent elements of src as bf16 and sets the other lanes to 0. */
static inline uint16x8_t load_halves(const void *src, aoei_dtype type, size_t n) {
    if (type == AOEI_F32)
        return vf_narrow(vf_load_part(src, n));
    if (n == VF_LANES)
        return vld1q_u16(src);
    aoei_bf16 x[VF_LANES] = {0};
    memcpy(x, src, n * sizeof *x);
    return vld1q_u16(x);
}

static inline const void *element_at(const void *src, aoei_dtype type, size_t i) {
    return (const unsigned char *)src + i * aoei_dtype_size(type);
}

/* Stores the words of two adjacent lines. */
static inline void store_words(float *dst, uint32x4_t words) {
    vst1q_f32(dst, vreinterpretq_f32_u32(words));
}

/* Packs lines if the elements with equal k of all lines are adjacent in memory. */
static inline void pack_adjacent_lines(float *dst, size_t stride, const void *src, aoei_dtype type, size_t col, size_t lines,
                                       size_t K) {
    for (size_t k = 0; k < K; k += WORD, dst += stride * WORD_FLOATS) {
        uint16x8_t x[WORD]; /* x[j]: elements k + j of all lines */
        for (size_t j = 0; j < WORD; j++)
            x[j] = k + j < K ? load_halves(element_at(src, type, (k + j) * col), type, lines) : vdupq_n_u16(0);
        const uint32x4_t a = vreinterpretq_u32_u16(vzip1q_u16(x[0], x[1])), b = vreinterpretq_u32_u16(vzip1q_u16(x[2], x[3]));
        const uint32x4_t c = vreinterpretq_u32_u16(vzip2q_u16(x[0], x[1])), d = vreinterpretq_u32_u16(vzip2q_u16(x[2], x[3]));
        store_words(dst, vzip1q_u32(a, b));
        store_words(dst + 4, vzip2q_u32(a, b));
        store_words(dst + 8, vzip1q_u32(c, d));
        store_words(dst + 12, vzip2q_u32(c, d));
    }
}

/* Packs lines whose elements are contiguous in memory. Each iteration packs two words of each line. */
static inline void pack_contiguous(float *dst, size_t stride, const void *src, aoei_dtype type, size_t row, size_t lines,
                                   size_t K) {
    for (size_t k = 0; k < K; k += 2 * WORD, dst += 2 * stride * WORD_FLOATS) {
        const size_t n = K - k < 2 * WORD ? K - k : 2 * WORD;
        uint64x2_t x[VF_LANES]; /* x[i]: elements [k, k + n) of line i */
        for (size_t i = 0; i < VF_LANES; i++)
            x[i] = vreinterpretq_u64_u16(load_halves(element_at(src, type, (i < lines ? i : 0) * row + k), type, n));
        for (size_t i = 0; i < VF_LANES; i += 2)
            store_words(dst + i * WORD_FLOATS, vreinterpretq_u32_u64(vzip1q_u64(x[i], x[i + 1])));
        for (size_t i = 0; n > WORD && i < VF_LANES; i += 2)
            store_words(dst + (stride + i) * WORD_FLOATS, vreinterpretq_u32_u64(vzip2q_u64(x[i], x[i + 1])));
    }
}

/* Packs lines whose elements are adjacent neither along k nor across lines. */
static inline void pack_scattered(float *dst, size_t stride, const void *src, aoei_dtype type, size_t row, size_t col,
                                  size_t lines, size_t K) {
    for (size_t k = 0; k < K; k += WORD, dst += stride * WORD_FLOATS)
        for (size_t i = 0; i < lines; i++) {
            aoei_bf16 word[WORD] = {0};
            for (size_t j = 0; j < WORD && k + j < K; j++) {
                const void *x = element_at(src, type, i * row + (k + j) * col);
                word[j] = type == AOEI_BF16 ? *(const aoei_bf16 *)x : aoei_bf16_from_f32(*(const float *)x);
            }
            memcpy(dst + i * WORD_FLOATS, word, sizeof word);
        }
}

static inline void pack_lines(float *dst, size_t stride, const void *src, aoei_dtype type, size_t row, size_t col, size_t lines,
                              size_t K) {
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

static void pack_lines_bf16(float *dst, size_t stride, const void *src, size_t row, size_t col, size_t lines, size_t K) {
    pack_lines(dst, stride, src, AOEI_BF16, row, col, lines, K);
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

/* Loads the words of two adjacent lines. */
static inline bfloat16x8_t load_words(const float *p) {
    return vreinterpretq_bf16_f32(vld1q_f32(p));
}

/* The register c##p##q contains the sums of rows 2 p and 2 p + 1 and of columns 2 q and 2 q + 1: first the two sums of the
 * first row, then those of the second row. */
#define ZERO(p)                                                                                                                \
    float32x4_t c##p##0 = vdupq_n_f32(0), c##p##1 = c##p##0, c##p##2 = c##p##0, c##p##3 = c##p##0;                             \
    float32x4_t c##p##4 = c##p##0, c##p##5 = c##p##0, c##p##6 = c##p##0, c##p##7 = c##p##0;
#define LOAD(p)                                                                                                                \
    {                                                                                                                          \
        const sums_row x = load_row(t, 2 * p), y = load_row(t, 2 * p + 1);                                                     \
        c##p##0 = lower(x.left.lo, y.left.lo);                                                                                 \
        c##p##1 = upper(x.left.lo, y.left.lo);                                                                                 \
        c##p##2 = lower(x.left.hi, y.left.hi);                                                                                 \
        c##p##3 = upper(x.left.hi, y.left.hi);                                                                                 \
        c##p##4 = lower(x.right.lo, y.right.lo);                                                                               \
        c##p##5 = upper(x.right.lo, y.right.lo);                                                                               \
        c##p##6 = lower(x.right.hi, y.right.hi);                                                                               \
        c##p##7 = upper(x.right.hi, y.right.hi);                                                                               \
    }
#define STORE(p)                                                                                                               \
    {                                                                                                                          \
        const vf left = {lower(c##p##0, c##p##1), lower(c##p##2, c##p##3)};                                                    \
        const vf right = {lower(c##p##4, c##p##5), lower(c##p##6, c##p##7)};                                                   \
        const vf next_left = {upper(c##p##0, c##p##1), upper(c##p##2, c##p##3)};                                               \
        const vf next_right = {upper(c##p##4, c##p##5), upper(c##p##6, c##p##7)};                                              \
        store_row(t, 2 * p, (sums_row){left, right});                                                                          \
        store_row(t, 2 * p + 1, (sums_row){next_left, next_right});                                                            \
    }
#define LOAD_A(p) const bfloat16x8_t a##p = load_words(a + 4 * p);

/* STEP_P(q, r) adds the products of P row pairs and of the column pairs q and r. Without AOEI_ORDER_LOADS, compilers load all
 * column pairs before the first product, and then have too few registers for the sums. */
#define STEP_1(q, r)                                                                                                           \
    AOEI_ORDER_LOADS(b);                                                                                                       \
    x = load_words(b + 4 * q);                                                                                                 \
    y = load_words(b + 4 * r);                                                                                                 \
    c0##q = vbfmmlaq_f32(c0##q, a0, x);                                                                                        \
    c0##r = vbfmmlaq_f32(c0##r, a0, y);
#define STEP_2(q, r)                                                                                                           \
    STEP_1(q, r)                                                                                                               \
    c1##q = vbfmmlaq_f32(c1##q, a1, x);                                                                                        \
    c1##r = vbfmmlaq_f32(c1##r, a1, y);
#define STEP_3(q, r)                                                                                                           \
    STEP_2(q, r)                                                                                                               \
    c2##q = vbfmmlaq_f32(c2##q, a2, x);                                                                                        \
    c2##r = vbfmmlaq_f32(c2##r, a2, y);
#define ALL_COLUMNS(STEP) STEP(0, 1) STEP(2, 3) STEP(4, 5) STEP(6, 7)

/* Defines the tile kernel for R rows, which form PAIRS pairs. If R is odd, the second row of the last pair contains the word
 * after the last row, which may be undefined; its sums are not stored. */
#define TILE(R, PAIRS)                                                                                                         \
    static void tile_##R(const aoei_gemm_tile *t) {                                                                            \
        const float *a = t->a, *b = t->b;                                                                                      \
        const size_t b_row = t->b_row;                                                                                         \
        AOEI_ROWS_##PAIRS(ZERO);                                                                                               \
        if (!t->first) {                                                                                                       \
            AOEI_ROWS_##PAIRS(LOAD);                                                                                           \
        }                                                                                                                      \
        for (size_t k = t->K; k > 0; k--) {                                                                                    \
            bfloat16x8_t x, y;                                                                                                 \
            AOEI_ROWS_##PAIRS(LOAD_A);                                                                                         \
            ALL_COLUMNS(STEP_##PAIRS);                                                                                         \
            a += R * WORD_FLOATS;                                                                                              \
            b += b_row;                                                                                                        \
        }                                                                                                                      \
        AOEI_ROWS_##PAIRS(STORE);                                                                                              \
    }

TILE(1, 1)
TILE(2, 1)
TILE(3, 2)
TILE(4, 2)
TILE(5, 3)
TILE(6, 3)

static aoei_gemm_tile_fn *const tiles[ROWS + 1] = {NULL, tile_1, tile_2, tile_3, tile_4, tile_5, tile_6};

static const aoei_gemm_tier bf16_tier = {.rows = ROWS,
                                         .panel = PANEL,
                                         .lanes = VF_LANES,
                                         .word = WORD,
                                         .word_floats = WORD_FLOATS,
                                         .type = AOEI_BF16,
                                         .k_block = K_BLOCK,
                                         .m_block = M_BLOCK,
                                         .tiles = tiles,
                                         .pack_a = pack_lines_bf16,
                                         .pack_b = {pack_lines_f32, pack_lines_bf16},
                                         .epilogue = aoei_gemm_epilogue_neon};

size_t aoei_gemm_bf16_packed_size_neonbf16(size_t K, size_t N) {
    return aoei_gemm_packed_bytes(&bf16_tier, K, N);
}

void aoei_gemm_bf16_pack_neonbf16(void *packed, const void *b, aoei_dtype type, size_t b_row, size_t b_col, size_t K, size_t n0,
                                  size_t n1) {
    aoei_gemm_pack_columns(&bf16_tier, packed, b, type, b_row, b_col, K, n0, n1);
}

void aoei_gemm_bf16_neonbf16(const aoei_gemm_args *g, float *scratch) {
    aoei_gemm_blocked(&bf16_tier, g, scratch);
}
