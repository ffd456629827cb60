/* SPDX-License-Identifier: MIT
 * Dot products of one query with rows of codes and of signs for x86-64, with vectors of 256 or 512 bits.
 *
 * Codes: without VNNI, pairs of int16 values are multiplied and added (vpmaddwd). With VNNI, vpdpbusd multiplies uint8
 * by int8 values: 128 is added to each code by inverting its highest bit, and 128 times the sum of the query is
 * subtracted from the result.
 *
 * Signs: a block of 128 signs has 16 bytes, and bit j of byte b is the sign of element 16 j + b. The 16 bytes are
 * copied to all lanes of 128 bits of a vector and shifted by another number of bits in each lane. The lowest bits of
 * all bytes are then the signs of adjacent elements, as numbers 0 and 1, which are multiplied by the elements.
 *
 * The including file defines these macros (v: a vector, p: an address):
 * - VEC, BYTES: type of a vector and its number of bytes; VNNI: 1 if there is vpdpbusd
 * - LOAD(p), ZERO, SET8(x), SET16(x), ADD32(v, w), ADD16(v, w), XOR(v, w), AND(v, w), MADD16(v, w), MADD8(v, w)
 * - WIDEN(p): BYTES / 2 int8 values as int16; DPBUSD(sum, v, w): only with VNNI
 * - COPY16(p): 16 bytes in all lanes; SHIFT(v, w): shifts 32-bit elements to the right; SHIFTS(s): the numbers of bits
 *   by which lane l is shifted for part s of a block: s * (BYTES / 16) + l
 * - OWN_SIGNS, optional: defines signs_4 instead of the function in this file
 * - sums_4(dots, a, b, c, d): stores the sums of the 32-bit elements of four vectors
 */

enum {
    CODES_STEP = VNNI ? BYTES : BYTES / 2, /* codes per multiplication */
    SIGNS = 128,                           /* signs per block */
    PARTS = SIGNS / BYTES,                 /* multiplications per block */
    SAFE = 128 / PARTS * SIGNS             /* signs after which sums of 16 bits, each with products of up to 254, are
                                              added to sums of 32 bits */
};

#if VNNI
static inline VEC load_query(const int8_t *q) {
    return LOAD(q);
}

static inline VEC add_codes(VEC sum, const unsigned char *x, VEC q) {
    return DPBUSD(sum, XOR(LOAD(x), SET8(-128)), q);
}

/* Returns what has to be subtracted from the sums because 128 is added to all codes. */
static inline int32_t codes_excess(const int8_t *q, size_t K) {
    VEC sum = ZERO;
    int32_t lanes[4];
    for (size_t k = 0; k < K; k += BYTES)
        sum = DPBUSD(sum, SET8(-128), LOAD(q + k));
    sums_4(lanes, sum, sum, sum, sum);
    return lanes[0];
}
#else
static inline VEC load_query(const int8_t *q) {
    return WIDEN(q);
}

static inline VEC add_codes(VEC sum, const unsigned char *x, VEC q) {
    return ADD32(sum, MADD16(WIDEN(x), q));
}

static inline int32_t codes_excess(const int8_t *q, size_t K) {
    (void)q, (void)K;
    return 0;
}
#endif

/* The vectors of four rows. They are separate variables, because compilers keep arrays in memory. */
typedef struct four {
    VEC a, b, c, d;
} four;

static inline void codes_4(int32_t *dots, const int8_t *query, const unsigned char *const *x, size_t K) {
    four s = {ZERO, ZERO, ZERO, ZERO};
    for (size_t k = 0; k < K; k += CODES_STEP) {
        const VEC q = load_query(query + k);
        s.a = add_codes(s.a, x[0] + k, q);
        s.b = add_codes(s.b, x[1] + k, q);
        s.c = add_codes(s.c, x[2] + k, q);
        s.d = add_codes(s.d, x[3] + k, q);
    }
    sums_4(dots, s.a, s.b, s.c, s.d);
}

#ifndef OWN_SIGNS
/* Adds the products of BYTES signs, the lowest bits of the bytes of `row` after a shift by `shifts`, and the query. */
static inline VEC add_signs(VEC sum, VEC row, VEC shifts, VEC q) {
    const VEC ones = AND(SHIFT(row, shifts), SET8(1));
#if VNNI
    return DPBUSD(sum, ones, q);
#else
    return ADD16(sum, MADD8(ones, q));
#endif
}

/* Returns the products of the signs of four rows from k to `end` and the query. */
static AOEI_ALWAYS_INLINE four signs_sums(const int8_t *query, const unsigned char *const *x, size_t k, size_t end) {
    four s = {ZERO, ZERO, ZERO, ZERO};
    for (; k < end; k += SIGNS) {
        const VEC a = COPY16(x[0] + k / 8), b = COPY16(x[1] + k / 8), c = COPY16(x[2] + k / 8),
                  d = COPY16(x[3] + k / 8);
        for (int part = 0; part < PARTS; part++) {
            const VEC q = LOAD(query + k + (size_t)part * BYTES), shifts = SHIFTS(part);
            s.a = add_signs(s.a, a, shifts, q);
            s.b = add_signs(s.b, b, shifts, q);
            s.c = add_signs(s.c, c, shifts, q);
            s.d = add_signs(s.d, d, shifts, q);
        }
    }
    if (!VNNI) {
        s.a = MADD16(s.a, SET16(1));
        s.b = MADD16(s.b, SET16(1));
        s.c = MADD16(s.c, SET16(1));
        s.d = MADD16(s.d, SET16(1));
    }
    return s;
}

static inline void signs_4(int32_t *dots, const int8_t *query, const unsigned char *const *x, size_t K) {
    four s = signs_sums(query, x, 0, K < SAFE ? K : SAFE);
    for (size_t k = SAFE; k < K; k += SAFE) {
        const four t = signs_sums(query, x, k, K - k < SAFE ? K : k + SAFE);
        s = (four){ADD32(s.a, t.a), ADD32(s.b, t.b), ADD32(s.c, t.c), ADD32(s.d, t.d)};
    }
    sums_4(dots, s.a, s.b, s.c, s.d);
}
#endif

#include "kernels/dots_rows.h"
