/* SPDX-License-Identifier: MIT
 * Dot products of one query with rows of codes and of signs for AVX512-VNNI. Signs are not moved to the lowest bit of a
 * byte: a set bit counts 2^bit times, and the sums of its lane are divided by this power of 2 at the end. There is one
 * sum for each half of a block of 128 signs. This saves a third of the instructions of dots_x86.h; with 256 bits, there
 * would be four sums per row, which need too many registers.
 */
#include "kernels/dots_512.h"

#define VNNI                 1
#define DPBUSD(sum, v, w)    _mm512_dpbusd_epi32(sum, v, w)
#define BITS(part)           _mm512_sllv_epi32(SET8(1), SHIFTS(part))
#define DIVIDE(sum, part)    _mm512_srav_epi32(sum, SHIFTS(part))
#define QUOTIENTS(low, high) ADD32(DIVIDE(low, 0), DIVIDE(high, 1))

/* The sums of four rows for one half of each block. */
typedef struct half {
    VEC a, b, c, d;
} half;

static inline void signs_4(int32_t *dots, const int8_t *query, const unsigned char *const *x, size_t K) {
    half low = {ZERO, ZERO, ZERO, ZERO}, high = low;
    for (size_t k = 0; k < K; k += 128) {
        const VEC a = COPY16(x[0] + k / 8), b = COPY16(x[1] + k / 8), c = COPY16(x[2] + k / 8),
                  d = COPY16(x[3] + k / 8), q = LOAD(query + k), r = LOAD(query + k + BYTES);
        low.a = DPBUSD(low.a, AND(a, BITS(0)), q);
        low.b = DPBUSD(low.b, AND(b, BITS(0)), q);
        low.c = DPBUSD(low.c, AND(c, BITS(0)), q);
        low.d = DPBUSD(low.d, AND(d, BITS(0)), q);
        high.a = DPBUSD(high.a, AND(a, BITS(1)), r);
        high.b = DPBUSD(high.b, AND(b, BITS(1)), r);
        high.c = DPBUSD(high.c, AND(c, BITS(1)), r);
        high.d = DPBUSD(high.d, AND(d, BITS(1)), r);
    }
    sums_4(dots, QUOTIENTS(low.a, high.a), QUOTIENTS(low.b, high.b), QUOTIENTS(low.c, high.c),
           QUOTIENTS(low.d, high.d));
}

#define OWN_SIGNS
#include "kernels/dots_x86.h"
