/* SPDX-License-Identifier: MIT
 * Dot products of one query with rows of codes and of signs for ARM64. A block of 128 signs has 16 bytes, and bit j of
 * byte b is the sign of element 16 j + b. A comparison with one bit turns the 16 bytes into the mask of 16 adjacent
 * elements. The including file defines these functions:
 * - add_codes(sum, x, q): adds the products of 16 codes and 16 elements of the query to four sums
 * - add_masked(sum, mask, q): adds the elements of the query whose mask is set, -1, to SUMS sums, or subtracts them
 * - finish(sum): returns four sums of 32 bits
 * and the macros SUMS, SUMS_ZERO (their type, and a vector of zeros) and SAFE, the number of signs for which these sums
 * cannot overflow.
 */

/* The vectors of four rows. */
typedef struct four {
    int32x4_t a, b, c, d;
} four;

static inline void store_sums(int32_t *dots, four s) {
    vst1q_s32(dots, vpaddq_s32(vpaddq_s32(s.a, s.b), vpaddq_s32(s.c, s.d)));
}

static inline int8x16_t load_bytes(const unsigned char *p) {
    return vreinterpretq_s8_u8(vld1q_u8(p));
}

static inline void codes_4(int32_t *dots, const int8_t *query, const unsigned char *const *x, size_t K) {
    four s = {vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};
    for (size_t k = 0; k < K; k += 16) {
        const int8x16_t q = vld1q_s8(query + k);
        s.a = add_codes(s.a, load_bytes(x[0] + k), q);
        s.b = add_codes(s.b, load_bytes(x[1] + k), q);
        s.c = add_codes(s.c, load_bytes(x[2] + k), q);
        s.d = add_codes(s.d, load_bytes(x[3] + k), q);
    }
    store_sums(dots, s);
}

static inline int32_t codes_excess(const int8_t *query, size_t K) {
    (void)query, (void)K;
    return 0;
}

/* Returns the sums for the signs of four rows from k to `end`. */
static AOEI_ALWAYS_INLINE four signs_sums(const int8_t *query, const unsigned char *const *x, size_t k, size_t end) {
    SUMS a = SUMS_ZERO, b = SUMS_ZERO, c = SUMS_ZERO, d = SUMS_ZERO;
    for (; k < end; k += 128) {
        const uint8x16_t r0 = vld1q_u8(x[0] + k / 8), r1 = vld1q_u8(x[1] + k / 8), r2 = vld1q_u8(x[2] + k / 8),
                         r3 = vld1q_u8(x[3] + k / 8);
        for (size_t j = 0; j < 8; j++) {
            const uint8x16_t bit = vdupq_n_u8((uint8_t)(1U << j));
            const int8x16_t q = vld1q_s8(query + k + 16 * j);
            a = add_masked(a, vreinterpretq_s8_u8(vtstq_u8(r0, bit)), q);
            b = add_masked(b, vreinterpretq_s8_u8(vtstq_u8(r1, bit)), q);
            c = add_masked(c, vreinterpretq_s8_u8(vtstq_u8(r2, bit)), q);
            d = add_masked(d, vreinterpretq_s8_u8(vtstq_u8(r3, bit)), q);
        }
    }
    return (four){finish(a), finish(b), finish(c), finish(d)};
}

static inline void signs_4(int32_t *dots, const int8_t *query, const unsigned char *const *x, size_t K) {
    four s = {vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};
    for (size_t k = 0; k < K; k += SAFE) {
        const four t = signs_sums(query, x, k, K - k < SAFE ? K : k + SAFE);
        s = (four){vaddq_s32(s.a, t.a), vaddq_s32(s.b, t.b), vaddq_s32(s.c, t.c), vaddq_s32(s.d, t.d)};
    }
    store_sums(dots, s);
}

#include "kernels/dots_rows.h"
