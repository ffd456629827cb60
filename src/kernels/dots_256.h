/* SPDX-License-Identifier: MIT
 * Operations of dots_x86.h for vectors of 256 bits.
 */
#include <immintrin.h>

#include "kernels/kernels.h"
#include "kernels/tier.h"

#define VEC          __m256i
#define BYTES        32
#define LOAD(p)      _mm256_loadu_si256((const void *)(p))
#define ZERO         _mm256_setzero_si256()
#define SET8(x)      _mm256_set1_epi8(x)
#define SET16(x)     _mm256_set1_epi16(x)
#define ADD32(v, w)  _mm256_add_epi32(v, w)
#define ADD16(v, w)  _mm256_add_epi16(v, w)
#define XOR(v, w)    _mm256_xor_si256(v, w)
#define AND(v, w)    _mm256_and_si256(v, w)
#define MADD16(v, w) _mm256_madd_epi16(v, w)
#define MADD8(v, w)  _mm256_maddubs_epi16(v, w)
#define WIDEN(p)     _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)(p)))
#define COPY16(p)    _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)(p)))
#define SHIFT(v, w)  _mm256_srlv_epi32(v, w)
#define SHIFTS(part) _mm256_add_epi32(_mm256_set1_epi32(2 * (int)(part)), _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1))

static inline void sums_4(int32_t *dots, __m256i a, __m256i b, __m256i c, __m256i d) {
    const __m256i s = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    _mm_storeu_si128((void *)dots, _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1)));
}
