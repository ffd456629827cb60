/* SPDX-License-Identifier: MIT
 * Vector types and operations of the float32 kernels for AVX-512 (F, BW, DQ, VL), with 16 lanes. simd_avx2.h defines
 * types and operations with these names for 8 lanes. The code of a kernel is therefore written once, in NAME_simd.c.
 * simd_math.h defines exp, Phi and GELU. A vf contains VF_LANES floats, a vu contains VF_LANES uint32, and a vd
 * contains VF_LANES doubles. Functions with `part` in their names load or store only the first n lanes, where n is at
 * most VF_LANES. If n is VF_LANES, they use no mask, because masked instructions are slow on some CPUs. The sum of the
 * lanes of a vector is computed in a fixed order.
 */
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bf16.h"
#include "base/compiler.h"

#define VF_LANES 16

typedef __m512 vf;
typedef __m512i vu;
typedef struct vd {
    __m512d lo, hi; /* lo: lanes 0 to 7; hi: lanes 8 to 15 */
} vd;

static inline vf vf_set1(float x) {
    return _mm512_set1_ps(x);
}

static inline vf vf_zero(void) {
    return _mm512_setzero_ps();
}

static inline vf vf_load(const float *p) {
    return _mm512_loadu_ps(p);
}

static inline void vf_store(float *p, vf x) {
    _mm512_storeu_ps(p, x);
}

/* Returns a mask in which the bits of the first n lanes are set. */
static inline __mmask16 vf_mask(size_t n) {
    return (__mmask16)((1u << n) - 1u);
}

/* Loads the first n lanes from memory and sets the other lanes to 0. */
static inline vf vf_load_part(const float *p, size_t n) {
    if (n == VF_LANES)
        return vf_load(p);
    return _mm512_maskz_loadu_ps(vf_mask(n), p);
}

static inline void vf_store_part(float *p, size_t n, vf x) {
    if (n == VF_LANES) {
        vf_store(p, x);
        return;
    }
    _mm512_mask_storeu_ps(p, vf_mask(n), x);
}

/* Returns x in the first n lanes and `fill` in the other lanes. */
static inline vf vf_first(vf x, size_t n, vf fill) {
    return _mm512_mask_blend_ps(vf_mask(n), fill, x);
}

/* If AOEI_CVTNEPS2BF16 is 1, the functions vf_round_bf16 and vf_narrow round with the instruction VCVTNEPS2BF16 of
 * AVX512-BF16, which replaces seven instructions. For magnitudes less than 2^-126, its result is 0; all other results
 * are those of base/bf16.h. */
#ifndef AOEI_CVTNEPS2BF16
#define AOEI_CVTNEPS2BF16 0
#endif

/* Rounds x to bf16 as base/bf16.h defines. The function uses integer operations, so results are bit-identical on all
 * instruction sets. The bf16 is in the upper half of each lane; the lower half is undefined. */
static inline __m512i vf_bf16_bits(vf x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    return _mm512_mask_or_epi32(rounded, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), bits, _mm512_set1_epi32(0x400000));
}

/* Rounds two vectors of 16 floats to bf16 and combines them into 16 pairs of bf16. The elements of `low` are in the
 * lower halves of the lanes. */
static inline vf vf_pair_bf16(vf low, vf high) {
    return _mm512_castsi512_ps(
        _mm512_or_si512(_mm512_srli_epi32(_mm512_castps_si512(low), 16), _mm512_castps_si512(high)));
}

static inline vf vf_widen(__m256i x) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}

static inline __m256i vf_narrow(vf x) {
#if AOEI_CVTNEPS2BF16
    return (__m256i)_mm512_cvtneps_pbh(x);
#else
    const __m512i upper = /* indices of the 16-bit words 1, 3, ..., 31, which are the upper halves of the lanes */
        _mm512_zextsi256_si512(
            _mm256_setr_epi32(0x30001, 0x70005, 0xb0009, 0xf000d, 0x130011, 0x170015, 0x1b0019, 0x1f001d));
    return _mm512_castsi512_si256(_mm512_permutexvar_epi16(upper, vf_bf16_bits(x)));
#endif
}

/* Rounds x to bf16 and returns the result as float32. */
static inline vf vf_round_bf16(vf x) {
#if AOEI_CVTNEPS2BF16
    return vf_widen(vf_narrow(x));
#else
    return _mm512_castsi512_ps(_mm512_and_si512(vf_bf16_bits(x), _mm512_set1_epi32((int)0xffff0000)));
#endif
}

static inline vf vf_load_int8(const int8_t *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}

/* Converts 2 VF_LANES int8 values to int16. Each lane contains two of them; the lower half is the first one. */
static inline vf vf_widen_int8(const int8_t *p) {
    return _mm512_castsi512_ps(_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p)));
}

/* Rounds each lane, whose magnitude is less than 127.5, to the nearest integer, ties to even, and stores the
 * integers. */
static inline void vf_store_int8(int8_t *p, vf x) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x)));
}

/* Returns the values of lanes whose bits are int32 values. */
static inline vf vf_from_int32(vf bits) {
    return _mm512_cvtepi32_ps(_mm512_castps_si512(bits));
}

static inline vf vf_load_bf16(const aoei_bf16 *p) {
    return vf_widen(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

static inline vf vf_load_bf16_part(const aoei_bf16 *p, size_t n) {
    if (n == VF_LANES)
        return vf_load_bf16(p);
    return vf_widen(_mm256_maskz_loadu_epi16(vf_mask(n), p));
}

static inline void vf_store_bf16(aoei_bf16 *p, vf x) {
    _mm256_storeu_si256((__m256i *)(void *)p, vf_narrow(x));
}

static inline void vf_store_bf16_part(aoei_bf16 *p, size_t n, vf x) {
    if (n == VF_LANES) {
        vf_store_bf16(p, x);
        return;
    }
    _mm256_mask_storeu_epi16(p, vf_mask(n), vf_narrow(x));
}

static inline vf vf_add(vf a, vf b) {
    return _mm512_add_ps(a, b);
}

static inline vf vf_sub(vf a, vf b) {
    return _mm512_sub_ps(a, b);
}

static inline vf vf_mul(vf a, vf b) {
    return _mm512_mul_ps(a, b);
}

static inline vf vf_div(vf a, vf b) {
    return _mm512_div_ps(a, b);
}

static inline vf vf_sqrt(vf a) {
    return _mm512_sqrt_ps(a);
}

/* Returns a b + c, rounded once. */
static inline vf vf_fma(vf a, vf b, vf c) {
    return _mm512_fmadd_ps(a, b, c);
}

/* Returns c - a b, rounded once. */
static inline vf vf_fnma(vf a, vf b, vf c) {
    return _mm512_fnmadd_ps(a, b, c);
}

/* Returns a b - c, rounded once. */
static inline vf vf_fms(vf a, vf b, vf c) {
    return _mm512_fmsub_ps(a, b, c);
}

/* Returns the maximum of a and b in each lane, or b if a or b is NaN. vf_min returns the minimum, or b if a or b is
 * NaN. */
static inline vf vf_max(vf a, vf b) {
    return _mm512_max_ps(a, b);
}

static inline vf vf_min(vf a, vf b) {
    return _mm512_min_ps(a, b);
}

static inline vf vf_abs(vf a) {
    return _mm512_abs_ps(a);
}

/* Returns a in the lanes in which the sign bit of x is set, and b in the other lanes. */
static inline vf vf_if_negative(vf x, vf a, vf b) {
    return _mm512_mask_blend_ps(_mm512_movepi32_mask(_mm512_castps_si512(x)), b, a);
}

/* Rounds each lane to the nearest integer, ties to even. */
static inline vf vf_round(vf a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Returns x 2^n for integral n. A subnormal result is rounded only once. */
static inline vf vf_scale2(vf x, vf n) {
    return _mm512_scalef_ps(x, n);
}

/* Returns the sum of the lanes. First lane i + 8 is added to lane i for all i < 8, then lane i + 4 to lane i for i < 4,
 * then lane i + 2 for i < 2, then lane 1 to lane 0. */
static inline float vf_hsum(vf a) {
    const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    s = _mm_add_ss(s, _mm_movehdup_ps(s));
    return _mm_cvtss_f32(s);
}

static inline float vf_hmax(vf a) {
    const __m256 h = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    s = _mm_max_ss(s, _mm_movehdup_ps(s));
    return _mm_cvtss_f32(s);
}

static inline vd vd_zero(void) {
    return (vd){_mm512_setzero_pd(), _mm512_setzero_pd()};
}

static inline vd vd_set1(double x) {
    return (vd){_mm512_set1_pd(x), _mm512_set1_pd(x)};
}

static inline vd vd_from(vf a) {
    return (vd){_mm512_cvtps_pd(_mm512_castps512_ps256(a)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1))};
}

static inline vd vd_add(vd a, vd b) {
    return (vd){_mm512_add_pd(a.lo, b.lo), _mm512_add_pd(a.hi, b.hi)};
}

static inline vd vd_sub(vd a, vd b) {
    return (vd){_mm512_sub_pd(a.lo, b.lo), _mm512_sub_pd(a.hi, b.hi)};
}

/* Returns a b + c, rounded once. */
static inline vd vd_fma(vd a, vd b, vd c) {
    return (vd){_mm512_fmadd_pd(a.lo, b.lo, c.lo), _mm512_fmadd_pd(a.hi, b.hi, c.hi)};
}

/* Returns a in the first n lanes and 0 in the other lanes. */
static inline vd vd_first(vd a, size_t n) {
    const unsigned m = vf_mask(n);
    return (vd){_mm512_maskz_mov_pd((__mmask8)m, a.lo), _mm512_maskz_mov_pd((__mmask8)(m >> 8), a.hi)};
}

/* Returns the sum of the lanes. First lane i + 8 is added to lane i for all i < 8, then lane i + 4 to lane i for i < 4,
 * then lane i + 2 for i < 2, then lane 1 to lane 0. */
static inline double vd_hsum(vd a) {
    const __m512d h = _mm512_add_pd(a.lo, a.hi);
    const __m256d s = _mm256_add_pd(_mm512_castpd512_pd256(h), _mm512_extractf64x4_pd(h, 1));
    const __m128d t = _mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
    return _mm_cvtsd_f64(_mm_add_sd(t, _mm_unpackhi_pd(t, t)));
}

static inline vu vu_set1(uint32_t x) {
    return _mm512_set1_epi32((int)x);
}

/* Returns a vector with the lanes first, first + 1, first + 2, ... */
static inline vu vu_iota(uint32_t first) {
    return _mm512_add_epi32(vu_set1(first), _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

static inline vu vu_xor(vu a, vu b) {
    return _mm512_xor_si512(a, b);
}

static inline vu vu_and(vu a, vu b) {
    return _mm512_and_si512(a, b);
}

static inline vu vu_max(vu a, vu b) {
    return _mm512_max_epu32(a, b);
}

/* Loads 2 VF_LANES 16-bit integers. */
static inline vu vu_load_halves(const uint16_t *p) {
    return _mm512_loadu_si512(p);
}

/* Returns the larger of each pair of 16-bit integers. */
static inline vu vu_max_halves(vu a, vu b) {
    return _mm512_max_epu16(a, b);
}

/* Moves the lower half of each lane to the upper half; the lower half becomes 0. */
static inline vu vu_low_to_high(vu a) {
    return _mm512_slli_epi32(a, 16);
}

static inline uint32_t vu_hmax(vu a) {
    return (uint32_t)_mm512_reduce_max_epu32(a);
}

/* Returns the bits of each lane as an integer. */
static inline vu vf_bits(vf x) {
    return _mm512_castps_si512(x);
}

/* Returns the floats with these bits. */
static inline vf vf_of_bits(vu x) {
    return _mm512_castsi512_ps(x);
}

/* Returns the 64-bit products of the even lanes of a and b. Each product occupies an even lane and the odd lane after
 * it. */
static inline vu vu_mul_even(vu a, vu b) {
    return _mm512_mul_epu32(a, b);
}

/* Moves each odd lane to the preceding even lane. */
static inline vu vu_odd_to_even(vu a) {
    return _mm512_srli_epi64(a, 32);
}

/* Returns the even lanes of a and b in the order a[0], b[0], a[2], b[2], ... */
static inline vu vu_interleave_even(vu a, vu b) {
    return _mm512_mask_blend_epi32(0xaaaa, a, _mm512_slli_epi64(b, 32));
}

/* Returns x in the lanes in which word >= threshold (compared as unsigned integers), and +0 in the other lanes. */
static inline vf vf_keep_ge(vf x, vu word, vu threshold) {
    return _mm512_maskz_mov_ps(_mm512_cmpge_epu32_mask(word, threshold), x);
}
