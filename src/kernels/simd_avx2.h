/* SPDX-License-Identifier: MIT
 * Vector types and operations of the float32 kernels for AVX2 and FMA, with 8 lanes. simd_avx512.h defines types and
 * operations with these names for 16 lanes, and simd_neon.h for ARM64. The code of a kernel is therefore written once,
 * in NAME_simd.c, which includes simd.h and is compiled once per tier. simd_math.h defines exp, Phi and GELU. A vf
 * contains VF_LANES floats, a vu contains VF_LANES uint32, and a vd contains VF_LANES doubles. Functions with `part` in
 * their names load or store only the first n lanes, where n is at most VF_LANES. If n is VF_LANES, they use no mask,
 * because masked instructions are slow on some CPUs. The sum of the lanes of a vector is computed in a fixed order.
 */
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bf16.h"
#include "base/compiler.h"

#define VF_LANES 8

typedef __m256 vf;
typedef __m256i vu;
typedef struct vd {
    __m256d lo, hi; /* lo: lanes 0 to 3; hi: lanes 4 to 7 */
} vd;

static inline vf vf_set1(float x) {
    return _mm256_set1_ps(x);
}

static inline vf vf_zero(void) {
    return _mm256_setzero_ps();
}

static inline vf vf_load(const float *p) {
    return _mm256_loadu_ps(p);
}

static inline void vf_store(float *p, vf x) {
    _mm256_storeu_ps(p, x);
}

/* Returns a mask with all bits set in the first n lanes and no bit set in the other lanes. */
static inline __m256i vf_mask(size_t n) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane);
}

/* Loads the first n lanes from memory and sets the other lanes to 0. */
static inline vf vf_load_part(const float *p, size_t n) {
    if (n == VF_LANES)
        return vf_load(p);
    return _mm256_maskload_ps(p, vf_mask(n));
}

static inline void vf_store_part(float *p, size_t n, vf x) {
    if (n == VF_LANES) {
        vf_store(p, x);
        return;
    }
    _mm256_maskstore_ps(p, vf_mask(n), x);
}

/* Returns x in the first n lanes and `fill` in the other lanes. */
static inline vf vf_first(vf x, size_t n, vf fill) {
    return _mm256_blendv_ps(fill, x, _mm256_castsi256_ps(vf_mask(n)));
}

/* Rounds x to bf16 as base/bf16.h defines. The function uses integer operations, so results are bit-identical on all
 * instruction sets. The bf16 is in the upper half of each lane; the lower half is undefined. */
static inline __m256i vf_bf16_bits(vf x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    return _mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
}

/* Rounds x to bf16 and returns the result as float32. */
static inline vf vf_round_bf16(vf x) {
    return _mm256_castsi256_ps(_mm256_and_si256(vf_bf16_bits(x), _mm256_set1_epi32((int)0xffff0000)));
}

/* Rounds two vectors of 8 floats to bf16 and combines them into 8 pairs of bf16. The elements of `low` are in the lower
 * halves of the lanes. */
static inline vf vf_pair_bf16(vf low, vf high) {
    return _mm256_castsi256_ps(
        _mm256_or_si256(_mm256_srli_epi32(_mm256_castps_si256(low), 16), _mm256_castps_si256(high)));
}

static inline vf vf_widen(__m128i x) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
}

static inline __m128i vf_narrow(vf x) {
    const __m256i words = _mm256_srli_epi32(vf_bf16_bits(x), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

static inline vf vf_load_int8(const int8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}

/* Converts 2 VF_LANES int8 values to int16. Each lane contains two of them; the lower half is the first one. */
static inline vf vf_widen_int8(const int8_t *p) {
    return _mm256_castsi256_ps(_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p)));
}

/* Rounds each lane, whose magnitude is less than 127.5, to the nearest integer, ties to even, and stores the
 * integers. */
static inline void vf_store_int8(int8_t *p, vf x) {
    const __m256i words = _mm256_cvtps_epi32(x);
    const __m128i halves = _mm_packs_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storel_epi64((__m128i *)(void *)p, _mm_packs_epi16(halves, halves));
}

/* Returns the values of lanes whose bits are int32 values. */
static inline vf vf_from_int32(vf bits) {
    return _mm256_cvtepi32_ps(_mm256_castps_si256(bits));
}

static inline vf vf_load_bf16(const aoei_bf16 *p) {
    return vf_widen(_mm_loadu_si128((const __m128i *)(const void *)p));
}

static inline vf vf_load_bf16_part(const aoei_bf16 *p, size_t n) {
    if (n == VF_LANES)
        return vf_load_bf16(p);
    aoei_bf16 x[8] = {0};
    memcpy(x, p, n * sizeof *x);
    return vf_load_bf16(x);
}

static inline void vf_store_bf16(aoei_bf16 *p, vf x) {
    _mm_storeu_si128((__m128i *)(void *)p, vf_narrow(x));
}

static inline void vf_store_bf16_part(aoei_bf16 *p, size_t n, vf x) {
    if (n == VF_LANES) {
        vf_store_bf16(p, x);
        return;
    }
    aoei_bf16 y[8];
    vf_store_bf16(y, x);
    memcpy(p, y, n * sizeof *y);
}

static inline vf vf_add(vf a, vf b) {
    return _mm256_add_ps(a, b);
}

static inline vf vf_sub(vf a, vf b) {
    return _mm256_sub_ps(a, b);
}

static inline vf vf_mul(vf a, vf b) {
    return _mm256_mul_ps(a, b);
}

static inline vf vf_div(vf a, vf b) {
    return _mm256_div_ps(a, b);
}

static inline vf vf_sqrt(vf a) {
    return _mm256_sqrt_ps(a);
}

/* Returns a b + c, rounded once. */
static inline vf vf_fma(vf a, vf b, vf c) {
    return _mm256_fmadd_ps(a, b, c);
}

/* Returns c - a b, rounded once. */
static inline vf vf_fnma(vf a, vf b, vf c) {
    return _mm256_fnmadd_ps(a, b, c);
}

/* Returns a b - c, rounded once. */
static inline vf vf_fms(vf a, vf b, vf c) {
    return _mm256_fmsub_ps(a, b, c);
}

/* Returns the maximum of a and b in each lane, or b if a or b is NaN. vf_min returns the minimum, or b if a or b is
 * NaN. */
static inline vf vf_max(vf a, vf b) {
    return _mm256_max_ps(a, b);
}

static inline vf vf_min(vf a, vf b) {
    return _mm256_min_ps(a, b);
}

static inline vf vf_abs(vf a) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}

/* Returns a in the lanes in which the sign bit of x is set, and b in the other lanes. */
static inline vf vf_if_negative(vf x, vf a, vf b) {
    return _mm256_blendv_ps(b, a, x);
}

/* Rounds each lane to the nearest integer, ties to even. */
static inline vf vf_round(vf a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Returns x 2^n for an integral n in [-252, 256] and x in [0.5, 2]. x is multiplied by two powers of 2, so that a
 * subnormal result is rounded only once. */
static inline vf vf_scale2(vf x, vf n) {
    const __m256i e = _mm256_cvtps_epi32(n);
    const __m256i half = _mm256_srai_epi32(e, 1);
    const __m256i bias = _mm256_set1_epi32(127);
    const __m256i f = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    const __m256i g = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(e, half), bias), 23);
    return _mm256_mul_ps(_mm256_mul_ps(x, _mm256_castsi256_ps(f)), _mm256_castsi256_ps(g));
}

/* Returns the sum of the lanes. The lanes are added in the order ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). */
static inline float vf_hsum(vf a) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    s = _mm_add_ss(s, _mm_movehdup_ps(s));
    return _mm_cvtss_f32(s);
}

static inline float vf_hmax(vf a) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    s = _mm_max_ss(s, _mm_movehdup_ps(s));
    return _mm_cvtss_f32(s);
}

static inline vd vd_zero(void) {
    return (vd){_mm256_setzero_pd(), _mm256_setzero_pd()};
}

static inline vd vd_set1(double x) {
    return (vd){_mm256_set1_pd(x), _mm256_set1_pd(x)};
}

static inline vd vd_from(vf a) {
    return (vd){_mm256_cvtps_pd(_mm256_castps256_ps128(a)), _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1))};
}

static inline vd vd_add(vd a, vd b) {
    return (vd){_mm256_add_pd(a.lo, b.lo), _mm256_add_pd(a.hi, b.hi)};
}

static inline vd vd_sub(vd a, vd b) {
    return (vd){_mm256_sub_pd(a.lo, b.lo), _mm256_sub_pd(a.hi, b.hi)};
}

/* Returns a b + c, rounded once. */
static inline vd vd_fma(vd a, vd b, vd c) {
    return (vd){_mm256_fmadd_pd(a.lo, b.lo, c.lo), _mm256_fmadd_pd(a.hi, b.hi, c.hi)};
}

/* Returns a in the first n lanes and 0 in the other lanes. */
static inline vd vd_first(vd a, size_t n) {
    const __m256i m = vf_mask(n);
    const __m256i lo = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(m));
    const __m256i hi = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(m, 1));
    return (vd){_mm256_and_pd(a.lo, _mm256_castsi256_pd(lo)), _mm256_and_pd(a.hi, _mm256_castsi256_pd(hi))};
}

/* Returns the sum of the lanes. The lanes are added in the order ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). */
static inline double vd_hsum(vd a) {
    const __m256d s = _mm256_add_pd(a.lo, a.hi);
    const __m128d t = _mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
    return _mm_cvtsd_f64(_mm_add_sd(t, _mm_unpackhi_pd(t, t)));
}

static inline vu vu_set1(uint32_t x) {
    return _mm256_set1_epi32((int)x);
}

/* Returns a vector with the lanes first, first + 1, first + 2, ... */
static inline vu vu_iota(uint32_t first) {
    return _mm256_add_epi32(vu_set1(first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline vu vu_xor(vu a, vu b) {
    return _mm256_xor_si256(a, b);
}

static inline vu vu_and(vu a, vu b) {
    return _mm256_and_si256(a, b);
}

static inline vu vu_max(vu a, vu b) {
    return _mm256_max_epu32(a, b);
}

/* Loads 2 VF_LANES 16-bit integers. */
static inline vu vu_load_halves(const uint16_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* Returns the larger of each pair of 16-bit integers. */
static inline vu vu_max_halves(vu a, vu b) {
    return _mm256_max_epu16(a, b);
}

/* Moves the lower half of each lane to the upper half; the lower half becomes 0. */
static inline vu vu_low_to_high(vu a) {
    return _mm256_slli_epi32(a, 16);
}

static inline uint32_t vu_hmax(vu a) {
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

/* Returns the bits of each lane as an integer. */
static inline vu vf_bits(vf x) {
    return _mm256_castps_si256(x);
}

/* Returns the floats with these bits. */
static inline vf vf_of_bits(vu x) {
    return _mm256_castsi256_ps(x);
}

/* Returns the 64-bit products of the even lanes of a and b. Each product occupies an even lane and the odd lane after
 * it. */
static inline vu vu_mul_even(vu a, vu b) {
    return _mm256_mul_epu32(a, b);
}

/* Moves each odd lane to the preceding even lane. */
static inline vu vu_odd_to_even(vu a) {
    return _mm256_srli_epi64(a, 32);
}

/* Returns the even lanes of a and b in the order a[0], b[0], a[2], b[2], ... */
static inline vu vu_interleave_even(vu a, vu b) {
    return _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xaa);
}

/* Returns x in the lanes in which word >= threshold (compared as unsigned integers), and +0 in the other lanes. */
static inline vf vf_keep_ge(vf x, vu word, vu threshold) {
    return _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_max_epu32(word, threshold), word)));
}
