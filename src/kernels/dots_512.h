/* SPDX-License-Identifier: MIT
 * Operations of dots_x86.h for vectors of 512 bits.
 */
#include <immintrin.h>

#include "kernels/kernels.h"
#include "kernels/tier.h"

#define VEC          __m512i
#define BYTES        64
#define LOAD(p)      _mm512_loadu_si512(p)
#define ZERO         _mm512_setzero_si512()
#define SET8(x)      _mm512_set1_epi8(x)
#define SET16(x)     _mm512_set1_epi16(x)
#define ADD32(v, w)  _mm512_add_epi32(v, w)
#define ADD16(v, w)  _mm512_add_epi16(v, w)
#define XOR(v, w)    _mm512_xor_si512(v, w)
#define AND(v, w)    _mm512_and_si512(v, w)
#define MADD16(v, w) _mm512_madd_epi16(v, w)
#define MADD8(v, w)  _mm512_maddubs_epi16(v, w)
#define WIDEN(p)     _mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)(p)))
#define COPY16(p)    _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)(p)))
#define SHIFT(v, w)  _mm512_srlv_epi32(v, w)
#define SHIFTS(part)                                                                                                   \
    _mm512_add_epi32(_mm512_set1_epi32(4 * (int)(part)),                                                               \
                     _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3))

/* Returns the sums of the upper and the lower half of v. */
static inline __m256i add_halves(__m512i v) {
    return _mm256_add_epi32(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
}

static inline void sums_4(int32_t *dots, __m512i a, __m512i b, __m512i c, __m512i d) {
    const __m256i s = _mm256_hadd_epi32(_mm256_hadd_epi32(add_halves(a), add_halves(b)),
                                        _mm256_hadd_epi32(add_halves(c), add_halves(d)));
    _mm_storeu_si128((void *)dots, _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1)));
}
