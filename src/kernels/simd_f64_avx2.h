/* SPDX-License-Identifier: MIT
 * Vector types and operations of the float64 kernels for AVX2 and FMA, with 4 lanes. simd_f64_avx512.h defines types
 * and operations with these names for 8 lanes, so the code of a kernel is written only once, in NAME_simd.c. Functions
 * with `part` in their names load or store only the first n lanes, where n is at most DV_LANES.
 */
#pragma once

#include <immintrin.h>
#include <stddef.h>

#define DV_LANES 4

typedef __m256d dv;

static inline dv dv_zero(void) {
    return _mm256_setzero_pd();
}

static inline dv dv_set1(double x) {
    return _mm256_set1_pd(x);
}

static inline dv dv_load(const double *p) {
    return _mm256_loadu_pd(p);
}

static inline void dv_store(double *p, dv x) {
    _mm256_storeu_pd(p, x);
}

/* Returns a mask with all bits set in the first n lanes and no bit set in the other lanes. */
static inline __m256i dv_mask(size_t n) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)n), _mm256_setr_epi64x(0, 1, 2, 3));
}

/* Loads the first n lanes from memory and sets the other lanes to 0. */
static inline dv dv_load_part(const double *p, size_t n) {
    return _mm256_maskload_pd(p, dv_mask(n));
}

static inline void dv_store_part(double *p, size_t n, dv x) {
    _mm256_maskstore_pd(p, dv_mask(n), x);
}

/* Returns x in the first n lanes and `fill` in the other lanes. */
static inline dv dv_first(dv x, size_t n, dv fill) {
    return _mm256_blendv_pd(fill, x, _mm256_castsi256_pd(dv_mask(n)));
}

static inline dv dv_add(dv a, dv b) {
    return _mm256_add_pd(a, b);
}

static inline dv dv_sub(dv a, dv b) {
    return _mm256_sub_pd(a, b);
}

static inline dv dv_mul(dv a, dv b) {
    return _mm256_mul_pd(a, b);
}

/* Returns a b + c, rounded once. */
static inline dv dv_fma(dv a, dv b, dv c) {
    return _mm256_fmadd_pd(a, b, c);
}

/* Returns c - a b, rounded once. */
static inline dv dv_fnma(dv a, dv b, dv c) {
    return _mm256_fnmadd_pd(a, b, c);
}

/* Returns the maximum of a and b in each lane, or b if a or b is NaN. dv_min returns the minimum, or b if a or b is
 * NaN. */
static inline dv dv_max(dv a, dv b) {
    return _mm256_max_pd(a, b);
}

static inline dv dv_min(dv a, dv b) {
    return _mm256_min_pd(a, b);
}

/* Rounds each lane to the nearest integer, ties to even. */
static inline dv dv_round(dv a) {
    return _mm256_round_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Returns x 2^n for an integral n in [-2044, 2046] and x in [0.5, 2]. x is multiplied by two powers of 2, so that a
 * subnormal result is rounded only once. */
static inline dv dv_scale2(dv x, dv n) {
    const __m128i e = _mm256_cvtpd_epi32(n), half = _mm_srai_epi32(e, 1), bias = _mm_set1_epi32(1023);
    const __m256i f = _mm256_slli_epi64(_mm256_cvtepi32_epi64(_mm_add_epi32(half, bias)), 52);
    const __m256i g = _mm256_slli_epi64(_mm256_cvtepi32_epi64(_mm_add_epi32(_mm_sub_epi32(e, half), bias)), 52);
    return _mm256_mul_pd(_mm256_mul_pd(x, _mm256_castsi256_pd(f)), _mm256_castsi256_pd(g));
}

/* Returns the sum of the lanes. The lanes are added in the order (0 + 2) + (1 + 3). */
static inline double dv_hsum(dv a) {
    const __m128d t = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(t, _mm_unpackhi_pd(t, t)));
}

static inline double dv_hmax(dv a) {
    const __m128d t = _mm_max_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_max_sd(t, _mm_unpackhi_pd(t, t)));
}
