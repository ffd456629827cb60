/* SPDX-License-Identifier: MIT
 * Vector types and operations of the float32 kernels for NEON, with 8 lanes in pairs of 128-bit registers. simd_avx2.h
 * defines types and operations with these names for AVX2 and describes them. The number of lanes, the roundings, and
 * the orders in which the lanes of a vector are added are those of simd_avx2.h, so both instruction sets compute
 * bit-identical results.
 */
#pragma once

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bf16.h"
#include "base/compiler.h"

#define VF_LANES 8

typedef struct vf {
    float32x4_t lo, hi; /* lo: lanes 0 to 3; hi: lanes 4 to 7 */
} vf;

typedef struct vu {
    uint32x4_t lo, hi; /* lo: lanes 0 to 3; hi: lanes 4 to 7 */
} vu;

typedef struct vd {
    float64x2_t v0, v1, v2, v3; /* v0: lanes 0 and 1; v1: lanes 2 and 3; v2: lanes 4 and 5; v3: lanes 6 and 7 */
} vd;

static inline vf vf_set1(float x) {
    return (vf){vdupq_n_f32(x), vdupq_n_f32(x)};
}

static inline vf vf_zero(void) {
    return vf_set1(0.0f);
}

static inline vf vf_load(const float *p) {
    return (vf){vld1q_f32(p), vld1q_f32(p + 4)};
}

static inline void vf_store(float *p, vf x) {
    vst1q_f32(p, x.lo);
    vst1q_f32(p + 4, x.hi);
}

static inline vu vu_set1(uint32_t x) {
    return (vu){vdupq_n_u32(x), vdupq_n_u32(x)};
}

/* Returns a vector with the lanes first, first + 1, first + 2, ... */
static inline vu vu_iota(uint32_t first) {
    static const uint32_t lane[VF_LANES] = {0, 1, 2, 3, 4, 5, 6, 7};
    const uint32x4_t start = vdupq_n_u32(first);
    return (vu){vaddq_u32(start, vld1q_u32(lane)), vaddq_u32(start, vld1q_u32(lane + 4))};
}

/* Returns a mask with all bits set in the first n lanes and no bit set in the other lanes. */
static inline vu vf_mask(size_t n) {
    const uint32x4_t end = vdupq_n_u32((uint32_t)n);
    const vu lane = vu_iota(0);
    return (vu){vcltq_u32(lane.lo, end), vcltq_u32(lane.hi, end)};
}

/* Loads the first n lanes from memory and sets the other lanes to 0. */
static inline vf vf_load_part(const float *p, size_t n) {
    if (n == VF_LANES)
        return vf_load(p);
    float x[VF_LANES] = {0};
    memcpy(x, p, n * sizeof *x);
    return vf_load(x);
}

static inline void vf_store_part(float *p, size_t n, vf x) {
    if (n == VF_LANES) {
        vf_store(p, x);
        return;
    }
    float y[VF_LANES];
    vf_store(y, x);
    memcpy(p, y, n * sizeof *y);
}

/* Returns a in the lanes in which the bits of `mask` are set, and b in the other lanes. */
static inline vf vf_select(vu mask, vf a, vf b) {
    return (vf){vbslq_f32(mask.lo, a.lo, b.lo), vbslq_f32(mask.hi, a.hi, b.hi)};
}

/* Returns x in the first n lanes and `fill` in the other lanes. */
static inline vf vf_first(vf x, size_t n, vf fill) {
    return vf_select(vf_mask(n), x, fill);
}

/* Rounds four floats to bf16 as base/bf16.h defines, with integer operations. The bf16 is in the upper half of each
 * lane; the lower half is undefined. */
static inline uint32x4_t half_bf16_bits(float32x4_t x) {
    const uint32x4_t bits = vreinterpretq_u32_f32(x);
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    const uint32x4_t rounded = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7fff)), odd);
    const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
    return vbslq_u32(vceqq_f32(x, x), rounded, quiet);
}

static inline vu vf_bf16_bits(vf x) {
    return (vu){half_bf16_bits(x.lo), half_bf16_bits(x.hi)};
}

/* Rounds x to bf16 and returns the result as float32. */
static inline vf vf_round_bf16(vf x) {
    const vu bits = vf_bf16_bits(x);
    const uint32x4_t upper = vdupq_n_u32(0xffff0000);
    return (vf){vreinterpretq_f32_u32(vandq_u32(bits.lo, upper)), vreinterpretq_f32_u32(vandq_u32(bits.hi, upper))};
}

/* Combines two vectors whose lanes are bf16 numbers into 8 pairs of bf16. The elements of `low` are in the lower halves
 * of the lanes. */
static inline vf vf_pair_bf16(vf low, vf high) {
    const uint32x4_t lo = vsriq_n_u32(vreinterpretq_u32_f32(high.lo), vreinterpretq_u32_f32(low.lo), 16);
    const uint32x4_t hi = vsriq_n_u32(vreinterpretq_u32_f32(high.hi), vreinterpretq_u32_f32(low.hi), 16);
    return (vf){vreinterpretq_f32_u32(lo), vreinterpretq_f32_u32(hi)};
}

static inline vf vf_widen(uint16x8_t x) {
    return (vf){vreinterpretq_f32_u32(vshlq_n_u32(vmovl_u16(vget_low_u16(x)), 16)),
                vreinterpretq_f32_u32(vshlq_n_u32(vmovl_high_u16(x), 16))};
}

static inline uint16x8_t vf_narrow(vf x) {
    const vu bits = vf_bf16_bits(x);
    return vshrn_high_n_u32(vshrn_n_u32(bits.lo, 16), bits.hi, 16);
}

static inline vf vf_load_int8(const int8_t *p) {
    const int16x8_t x = vmovl_s8(vld1_s8(p));
    return (vf){vcvtq_f32_s32(vmovl_s16(vget_low_s16(x))), vcvtq_f32_s32(vmovl_high_s16(x))};
}

/* Converts 2 VF_LANES int8 values to int16. Each lane contains two of them; the lower half is the first one. */
static inline vf vf_widen_int8(const int8_t *p) {
    const int8x16_t x = vld1q_s8(p);
    return (vf){vreinterpretq_f32_s16(vmovl_s8(vget_low_s8(x))), vreinterpretq_f32_s16(vmovl_high_s8(x))};
}

/* Rounds each lane, whose magnitude is less than 127.5, to the nearest integer, ties to even, and stores the
 * integers. */
static inline void vf_store_int8(int8_t *p, vf x) {
    const int16x4_t lo = vmovn_s32(vcvtnq_s32_f32(x.lo)), hi = vmovn_s32(vcvtnq_s32_f32(x.hi));
    vst1_s8(p, vmovn_s16(vcombine_s16(lo, hi)));
}

/* Returns the values of lanes whose bits are int32 values. */
static inline vf vf_from_int32(vf bits) {
    return (vf){vcvtq_f32_s32(vreinterpretq_s32_f32(bits.lo)), vcvtq_f32_s32(vreinterpretq_s32_f32(bits.hi))};
}

static inline vf vf_load_bf16(const aoei_bf16 *p) {
    return vf_widen(vld1q_u16(p));
}

static inline vf vf_load_bf16_part(const aoei_bf16 *p, size_t n) {
    if (n == VF_LANES)
        return vf_load_bf16(p);
    aoei_bf16 x[VF_LANES] = {0};
    memcpy(x, p, n * sizeof *x);
    return vf_load_bf16(x);
}

static inline void vf_store_bf16(aoei_bf16 *p, vf x) {
    vst1q_u16(p, vf_narrow(x));
}

static inline void vf_store_bf16_part(aoei_bf16 *p, size_t n, vf x) {
    if (n == VF_LANES) {
        vf_store_bf16(p, x);
        return;
    }
    aoei_bf16 y[VF_LANES];
    vf_store_bf16(y, x);
    memcpy(p, y, n * sizeof *y);
}

static inline vf vf_add(vf a, vf b) {
    return (vf){vaddq_f32(a.lo, b.lo), vaddq_f32(a.hi, b.hi)};
}

static inline vf vf_sub(vf a, vf b) {
    return (vf){vsubq_f32(a.lo, b.lo), vsubq_f32(a.hi, b.hi)};
}

static inline vf vf_mul(vf a, vf b) {
    return (vf){vmulq_f32(a.lo, b.lo), vmulq_f32(a.hi, b.hi)};
}

static inline vf vf_div(vf a, vf b) {
    return (vf){vdivq_f32(a.lo, b.lo), vdivq_f32(a.hi, b.hi)};
}

static inline vf vf_sqrt(vf a) {
    return (vf){vsqrtq_f32(a.lo), vsqrtq_f32(a.hi)};
}

/* Returns a b + c, rounded once. */
static inline vf vf_fma(vf a, vf b, vf c) {
    return (vf){vfmaq_f32(c.lo, a.lo, b.lo), vfmaq_f32(c.hi, a.hi, b.hi)};
}

/* Returns c - a b, rounded once. */
static inline vf vf_fnma(vf a, vf b, vf c) {
    return (vf){vfmsq_f32(c.lo, a.lo, b.lo), vfmsq_f32(c.hi, a.hi, b.hi)};
}

/* Returns a b - c, rounded once. */
static inline vf vf_fms(vf a, vf b, vf c) {
    return (vf){vfmaq_f32(vnegq_f32(c.lo), a.lo, b.lo), vfmaq_f32(vnegq_f32(c.hi), a.hi, b.hi)};
}

/* Returns the maximum of a and b in each lane, or b if a or b is NaN. The NEON instruction for the maximum returns
 * NaN. */
static inline float32x4_t half_max(float32x4_t a, float32x4_t b) {
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}

/* Returns the maximum of a and b in each lane, or b if a or b is NaN. vf_min returns the minimum, or b if a or b is
 * NaN. */
static inline vf vf_max(vf a, vf b) {
    return (vf){half_max(a.lo, b.lo), half_max(a.hi, b.hi)};
}

static inline vf vf_min(vf a, vf b) {
    return vf_select((vu){vcltq_f32(a.lo, b.lo), vcltq_f32(a.hi, b.hi)}, a, b);
}

static inline vf vf_abs(vf a) {
    return (vf){vabsq_f32(a.lo), vabsq_f32(a.hi)};
}

/* Returns a in the lanes in which the sign bit of x is set, and b in the other lanes. */
static inline vf vf_if_negative(vf x, vf a, vf b) {
    const vu negative = {vcltzq_s32(vreinterpretq_s32_f32(x.lo)), vcltzq_s32(vreinterpretq_s32_f32(x.hi))};
    return vf_select(negative, a, b);
}

/* Rounds each lane to the nearest integer, ties to even. */
static inline vf vf_round(vf a) {
    return (vf){vrndnq_f32(a.lo), vrndnq_f32(a.hi)};
}

/* Returns x 2^n for four lanes. */
static inline float32x4_t half_scale2(float32x4_t x, float32x4_t n) {
    const int32x4_t e = vcvtnq_s32_f32(n);
    const int32x4_t half = vshrq_n_s32(e, 1);
    const int32x4_t bias = vdupq_n_s32(127);
    const int32x4_t f = vshlq_n_s32(vaddq_s32(half, bias), 23);
    const int32x4_t g = vshlq_n_s32(vaddq_s32(vsubq_s32(e, half), bias), 23);
    return vmulq_f32(vmulq_f32(x, vreinterpretq_f32_s32(f)), vreinterpretq_f32_s32(g));
}

/* Returns x 2^n for an integral n in [-252, 256] and x in [0.5, 2]. x is multiplied by two powers of 2, so that a
 * subnormal result is rounded only once. */
static inline vf vf_scale2(vf x, vf n) {
    return (vf){half_scale2(x.lo, n.lo), half_scale2(x.hi, n.hi)};
}

/* Returns the sum of the lanes. The lanes are added in the order ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). */
static inline float vf_hsum(vf a) {
    const float32x4_t s = vaddq_f32(a.lo, a.hi);
    const float32x2_t t = vadd_f32(vget_low_f32(s), vget_high_f32(s));
    return vpadds_f32(t);
}

static inline float vf_hmax(vf a) {
    const float32x4_t s = half_max(a.lo, a.hi);
    const float32x4_t t = half_max(s, vextq_f32(s, s, 2));
    return vgetq_lane_f32(half_max(t, vextq_f32(t, t, 1)), 0);
}

static inline vd vd_set1(double x) {
    return (vd){vdupq_n_f64(x), vdupq_n_f64(x), vdupq_n_f64(x), vdupq_n_f64(x)};
}

static inline vd vd_zero(void) {
    return vd_set1(0.0);
}

static inline vd vd_from(vf a) {
    return (vd){vcvt_f64_f32(vget_low_f32(a.lo)), vcvt_high_f64_f32(a.lo), vcvt_f64_f32(vget_low_f32(a.hi)),
                vcvt_high_f64_f32(a.hi)};
}

static inline vd vd_add(vd a, vd b) {
    return (vd){vaddq_f64(a.v0, b.v0), vaddq_f64(a.v1, b.v1), vaddq_f64(a.v2, b.v2), vaddq_f64(a.v3, b.v3)};
}

static inline vd vd_sub(vd a, vd b) {
    return (vd){vsubq_f64(a.v0, b.v0), vsubq_f64(a.v1, b.v1), vsubq_f64(a.v2, b.v2), vsubq_f64(a.v3, b.v3)};
}

/* Returns a b + c, rounded once. */
static inline vd vd_fma(vd a, vd b, vd c) {
    return (vd){vfmaq_f64(c.v0, a.v0, b.v0), vfmaq_f64(c.v1, a.v1, b.v1), vfmaq_f64(c.v2, a.v2, b.v2),
                vfmaq_f64(c.v3, a.v3, b.v3)};
}

/* Returns a in the first n lanes and 0 in the other lanes. */
static inline vd vd_first(vd a, size_t n) {
    static const uint64_t lane[VF_LANES] = {0, 1, 2, 3, 4, 5, 6, 7};
    const uint64x2_t end = vdupq_n_u64(n);
    const float64x2_t zero = vdupq_n_f64(0.0);
    return (vd){vbslq_f64(vcltq_u64(vld1q_u64(lane), end), a.v0, zero),
                vbslq_f64(vcltq_u64(vld1q_u64(lane + 2), end), a.v1, zero),
                vbslq_f64(vcltq_u64(vld1q_u64(lane + 4), end), a.v2, zero),
                vbslq_f64(vcltq_u64(vld1q_u64(lane + 6), end), a.v3, zero)};
}

/* Returns the sum of the lanes. The lanes are added in the order ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)). */
static inline double vd_hsum(vd a) {
    return vpaddd_f64(vaddq_f64(vaddq_f64(a.v0, a.v2), vaddq_f64(a.v1, a.v3)));
}

static inline vu vu_xor(vu a, vu b) {
    return (vu){veorq_u32(a.lo, b.lo), veorq_u32(a.hi, b.hi)};
}

static inline vu vu_and(vu a, vu b) {
    return (vu){vandq_u32(a.lo, b.lo), vandq_u32(a.hi, b.hi)};
}

static inline vu vu_max(vu a, vu b) {
    return (vu){vmaxq_u32(a.lo, b.lo), vmaxq_u32(a.hi, b.hi)};
}

/* Loads 2 VF_LANES 16-bit integers. */
static inline vu vu_load_halves(const uint16_t *p) {
    return (vu){vreinterpretq_u32_u16(vld1q_u16(p)), vreinterpretq_u32_u16(vld1q_u16(p + VF_LANES))};
}

/* Returns the larger of each pair of 16-bit integers. */
static inline vu vu_max_halves(vu a, vu b) {
    return (vu){vreinterpretq_u32_u16(vmaxq_u16(vreinterpretq_u16_u32(a.lo), vreinterpretq_u16_u32(b.lo))),
                vreinterpretq_u32_u16(vmaxq_u16(vreinterpretq_u16_u32(a.hi), vreinterpretq_u16_u32(b.hi)))};
}

/* Moves the lower half of each lane to the upper half; the lower half becomes 0. */
static inline vu vu_low_to_high(vu a) {
    return (vu){vshlq_n_u32(a.lo, 16), vshlq_n_u32(a.hi, 16)};
}

static inline uint32_t vu_hmax(vu a) {
    return vmaxvq_u32(vmaxq_u32(a.lo, a.hi));
}

/* Returns the bits of each lane as an integer. */
static inline vu vf_bits(vf x) {
    return (vu){vreinterpretq_u32_f32(x.lo), vreinterpretq_u32_f32(x.hi)};
}

/* Returns the floats with these bits. */
static inline vf vf_of_bits(vu a) {
    return (vf){vreinterpretq_f32_u32(a.lo), vreinterpretq_f32_u32(a.hi)};
}

/* Returns the 64-bit products of the even lanes of a and b. Each product occupies an even lane and the odd lane after
 * it. */
static inline vu vu_mul_even(vu a, vu b) {
    const uint64x2_t lo = vmull_u32(vmovn_u64(vreinterpretq_u64_u32(a.lo)), vmovn_u64(vreinterpretq_u64_u32(b.lo)));
    const uint64x2_t hi = vmull_u32(vmovn_u64(vreinterpretq_u64_u32(a.hi)), vmovn_u64(vreinterpretq_u64_u32(b.hi)));
    return (vu){vreinterpretq_u32_u64(lo), vreinterpretq_u32_u64(hi)};
}

/* Moves each odd lane to the preceding even lane. */
static inline vu vu_odd_to_even(vu a) {
    return (vu){vreinterpretq_u32_u64(vshrq_n_u64(vreinterpretq_u64_u32(a.lo), 32)),
                vreinterpretq_u32_u64(vshrq_n_u64(vreinterpretq_u64_u32(a.hi), 32))};
}

/* Returns the even lanes of a and b in the order a[0], b[0], a[2], b[2], ... */
static inline vu vu_interleave_even(vu a, vu b) {
    return (vu){vtrn1q_u32(a.lo, b.lo), vtrn1q_u32(a.hi, b.hi)};
}

/* Returns x in the lanes in which word >= threshold (compared as unsigned integers), and +0 in the other lanes. */
static inline vf vf_keep_ge(vf x, vu word, vu threshold) {
    return vf_select((vu){vcgeq_u32(word.lo, threshold.lo), vcgeq_u32(word.hi, threshold.hi)}, x, vf_zero());
}
