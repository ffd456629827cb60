/* SPDX-License-Identifier: MIT
 * Vector types and operations of the float64 kernels for NEON, with 4 lanes in pairs of 128-bit registers.
 * simd_f64_avx2.h defines types and operations with these names for AVX2 and describes them. The number of lanes, the
 * roundings, and the orders in which the lanes of a vector are added are those of simd_f64_avx2.h, so both instruction
 * sets compute bit-identical results.
 */
#pragma once

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DV_LANES 4

typedef struct dv {
    float64x2_t lo, hi; /* lo: lanes 0 and 1; hi: lanes 2 and 3 */
} dv;

static inline dv dv_set1(double x) {
    return (dv){vdupq_n_f64(x), vdupq_n_f64(x)};
}

static inline dv dv_zero(void) {
    return dv_set1(0.0);
}

static inline dv dv_load(const double *p) {
    return (dv){vld1q_f64(p), vld1q_f64(p + 2)};
}

static inline void dv_store(double *p, dv x) {
    vst1q_f64(p, x.lo);
    vst1q_f64(p + 2, x.hi);
}

/* Loads the first n lanes from memory and sets the other lanes to 0. */
static inline dv dv_load_part(const double *p, size_t n) {
    if (n == DV_LANES)
        return dv_load(p);
    double x[DV_LANES] = {0};
    memcpy(x, p, n * sizeof *x);
    return dv_load(x);
}

static inline void dv_store_part(double *p, size_t n, dv x) {
    if (n == DV_LANES) {
        dv_store(p, x);
        return;
    }
    double y[DV_LANES];
    dv_store(y, x);
    memcpy(p, y, n * sizeof *y);
}

/* Returns x in the first n lanes and `fill` in the other lanes. */
static inline dv dv_first(dv x, size_t n, dv fill) {
    static const uint64_t lane[DV_LANES] = {0, 1, 2, 3};
    const uint64x2_t end = vdupq_n_u64(n);
    return (dv){vbslq_f64(vcltq_u64(vld1q_u64(lane), end), x.lo, fill.lo),
                vbslq_f64(vcltq_u64(vld1q_u64(lane + 2), end), x.hi, fill.hi)};
}

static inline dv dv_add(dv a, dv b) {
    return (dv){vaddq_f64(a.lo, b.lo), vaddq_f64(a.hi, b.hi)};
}

static inline dv dv_sub(dv a, dv b) {
    return (dv){vsubq_f64(a.lo, b.lo), vsubq_f64(a.hi, b.hi)};
}

static inline dv dv_mul(dv a, dv b) {
    return (dv){vmulq_f64(a.lo, b.lo), vmulq_f64(a.hi, b.hi)};
}

/* Returns a b + c, rounded once. */
static inline dv dv_fma(dv a, dv b, dv c) {
    return (dv){vfmaq_f64(c.lo, a.lo, b.lo), vfmaq_f64(c.hi, a.hi, b.hi)};
}

/* Returns c - a b, rounded once. */
static inline dv dv_fnma(dv a, dv b, dv c) {
    return (dv){vfmsq_f64(c.lo, a.lo, b.lo), vfmsq_f64(c.hi, a.hi, b.hi)};
}

/* Returns the maximum of a and b in each lane, or b if a or b is NaN. The NEON instruction for the maximum returns
 * NaN. */
static inline float64x2_t half_max_f64(float64x2_t a, float64x2_t b) {
    return vbslq_f64(vcgtq_f64(a, b), a, b);
}

/* Returns the maximum of a and b in each lane, or b if a or b is NaN. dv_min returns the minimum, or b if a or b is
 * NaN. */
static inline dv dv_max(dv a, dv b) {
    return (dv){half_max_f64(a.lo, b.lo), half_max_f64(a.hi, b.hi)};
}

static inline dv dv_min(dv a, dv b) {
    return (dv){vbslq_f64(vcltq_f64(a.lo, b.lo), a.lo, b.lo), vbslq_f64(vcltq_f64(a.hi, b.hi), a.hi, b.hi)};
}

/* Rounds each lane to the nearest integer, ties to even. */
static inline dv dv_round(dv a) {
    return (dv){vrndnq_f64(a.lo), vrndnq_f64(a.hi)};
}

/* Returns x 2^n for two lanes. */
static inline float64x2_t half_scale2_f64(float64x2_t x, float64x2_t n) {
    const int64x2_t e = vcvtnq_s64_f64(n), half = vshrq_n_s64(e, 1), bias = vdupq_n_s64(1023);
    const int64x2_t f = vshlq_n_s64(vaddq_s64(half, bias), 52);
    const int64x2_t g = vshlq_n_s64(vaddq_s64(vsubq_s64(e, half), bias), 52);
    return vmulq_f64(vmulq_f64(x, vreinterpretq_f64_s64(f)), vreinterpretq_f64_s64(g));
}

/* Returns x 2^n for an integral n in [-2044, 2046] and x in [0.5, 2]. x is multiplied by two powers of 2, so that a
 * subnormal result is rounded only once. */
static inline dv dv_scale2(dv x, dv n) {
    return (dv){half_scale2_f64(x.lo, n.lo), half_scale2_f64(x.hi, n.hi)};
}

/* Returns the sum of the lanes. The lanes are added in the order (0 + 2) + (1 + 3). */
static inline double dv_hsum(dv a) {
    return vpaddd_f64(vaddq_f64(a.lo, a.hi));
}

static inline double dv_hmax(dv a) {
    const float64x2_t t = half_max_f64(a.lo, a.hi);
    return vgetq_lane_f64(half_max_f64(t, vextq_f64(t, t, 1)), 0);
}
