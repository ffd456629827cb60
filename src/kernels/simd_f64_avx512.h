/* SPDX-License-Identifier: MIT
 * Vector types and operations of the float64 kernels for AVX-512, with 8 lanes. simd_f64_avx2.h defines types and
 * operations with these names for 4 lanes, so the code of a kernel is written only once, in NAME_simd.c. Functions with
 * `part` in their names load or store only the first n lanes, where n is at most DV_LANES.
 */
#pragma once

#include <immintrin.h>
#include <stddef.h>

#define DV_LANES 8

typedef __m512d dv;

static inline dv dv_zero(void) {
    return _mm512_setzero_pd();
}

static inline dv dv_set1(double x) {
    return _mm512_set1_pd(x);
}

static inline dv dv_load(const double *p) {
    return _mm512_loadu_pd(p);
}

static inline void dv_store(double *p, dv x) {
    _mm512_storeu_pd(p, x);
}

static inline __mmask8 dv_mask(size_t n) {
    return (__mmask8)((1u << n) - 1u);
}

/* Loads the first n lanes from memory and sets the other lanes to 0. */
static inline dv dv_load_part(const double *p, size_t n) {
    return _mm512_maskz_loadu_pd(dv_mask(n), p);
}

static inline void dv_store_part(double *p, size_t n, dv x) {
    _mm512_mask_storeu_pd(p, dv_mask(n), x);
}

/* Returns x in the first n lanes and `fill` in the other lanes. */
static inline dv dv_first(dv x, size_t n, dv fill) {
    return _mm512_mask_blend_pd(dv_mask(n), fill, x);
}

static inline dv dv_add(dv a, dv b) {
    return _mm512_add_pd(a, b);
}

static inline dv dv_sub(dv a, dv b) {
    return _mm512_sub_pd(a, b);
}

static inline dv dv_mul(dv a, dv b) {
    return _mm512_mul_pd(a, b);
}

/* Returns a b + c, rounded once. */
static inline dv dv_fma(dv a, dv b, dv c) {
    return _mm512_fmadd_pd(a, b, c);
}

/* Returns c - a b, rounded once. */
static inline dv dv_fnma(dv a, dv b, dv c) {
    return _mm512_fnmadd_pd(a, b, c);
}

/* Returns the maximum of a and b in each lane, or b if a or b is NaN. dv_min returns the minimum, or b if a or b is
 * NaN. */
static inline dv dv_max(dv a, dv b) {
    return _mm512_max_pd(a, b);
}

static inline dv dv_min(dv a, dv b) {
    return _mm512_min_pd(a, b);
}

/* Rounds each lane to the nearest integer, ties to even. */
static inline dv dv_round(dv a) {
    return _mm512_roundscale_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Returns x 2^n for integral n. A subnormal result is rounded only once. */
static inline dv dv_scale2(dv x, dv n) {
    return _mm512_scalef_pd(x, n);
}

/* Returns the sum of the lanes. The lanes are added in the order ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). */
static inline double dv_hsum(dv a) {
    const __m256d s = _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
    const __m128d t = _mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
    return _mm_cvtsd_f64(_mm_add_sd(t, _mm_unpackhi_pd(t, t)));
}

static inline double dv_hmax(dv a) {
    const __m256d s = _mm256_max_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
    const __m128d t = _mm_max_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
    return _mm_cvtsd_f64(_mm_max_sd(t, _mm_unpackhi_pd(t, t)));
}
