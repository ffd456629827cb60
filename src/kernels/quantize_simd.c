/* SPDX-License-Identifier: MIT
 * Quantization of rows to int8, vectorized for AVX2, AVX-512 and NEON. Results are bit-identical on all instruction
 * sets.
 */
#include "kernels/quantize.h"
#include "kernels/simd.h"

/* Loads n elements of a row from element i and returns them as float32, multiplied by their factors; the other lanes
 * are 0. `type` and whether `factors` is NULL are compile-time constants. */
static AOEI_ALWAYS_INLINE vf load_row(const void *x, aoei_dtype type, const float *factors, size_t i, size_t n) {
    const vf v =
        type == AOEI_BF16 ? vf_load_bf16_part((const aoei_bf16 *)x + i, n) : vf_load_part((const float *)x + i, n);
    return factors ? vf_mul(v, vf_load_part(factors + i, n)) : v;
}

/* Returns in each lane the largest magnitude of several elements of the bf16 row x, as float32 bits. The elements are
 * those from 0 to *end - 1, where *end is the largest multiple of 4 VF_LANES that is at most n. The bits of magnitudes
 * have the order of their values, so the 16-bit integers are compared without a conversion. */
static inline vu largest_bf16(const aoei_bf16 *x, size_t n, size_t *end) {
    vu most = vu_set1(0), other = most;
    size_t i = 0;
    for (; i + 4 * VF_LANES <= n; i += 4 * VF_LANES) {
        most = vu_max_halves(most, vu_and(vu_load_halves(x + i), vu_set1(0x7fff7fffu)));
        other = vu_max_halves(other, vu_and(vu_load_halves(x + i + 2 * VF_LANES), vu_set1(0x7fff7fffu)));
    }
    *end = i;
    most = vu_max_halves(most, other);
    return vu_max(vu_low_to_high(most), vu_and(most, vu_set1(0xffff0000u)));
}

/* Returns the bits of the largest magnitude in the row x[n], multiplied by its factors. */
static AOEI_ALWAYS_INLINE uint32_t largest_magnitude(const void *x, aoei_dtype type, const float *factors, size_t n) {
    const vu magnitude = vu_set1(0x7fffffffu);
    size_t i = 0;
    vu most = type == AOEI_BF16 && !factors ? largest_bf16(x, n, &i) : vu_set1(0), other = most;
    for (; i + 2 * VF_LANES <= n; i += 2 * VF_LANES) {
        most = vu_max(most, vu_and(vf_bits(load_row(x, type, factors, i, VF_LANES)), magnitude));
        other = vu_max(other, vu_and(vf_bits(load_row(x, type, factors, i + VF_LANES, VF_LANES)), magnitude));
    }
    for (size_t part; i < n; i += part) {
        part = n - i < VF_LANES ? n - i : VF_LANES;
        most = vu_max(most, vu_and(vf_bits(load_row(x, type, factors, i, part)), magnitude));
    }
    return vu_hmax(vu_max(most, other));
}

static AOEI_ALWAYS_INLINE float quantize(int8_t *q, const void *x, aoei_dtype type, const float *factors, size_t n) {
    const aoei_row_scale s = aoei_row_scale_of(largest_magnitude(x, type, factors, n));
    const vf inverse = vf_set1(s.inverse);
    size_t i = 0;
    if (!(s.inverse > 0)) {
        memset(q, 0, n);
        return s.scale;
    }
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store_int8(q + i, vf_mul(load_row(x, type, factors, i, VF_LANES), inverse));
    if (i < n) {
        int8_t rest[VF_LANES];
        vf_store_int8(rest, vf_mul(load_row(x, type, factors, i, n - i), inverse));
        memcpy(q + i, rest, n - i);
    }
    return s.scale;
}

float AOEI_SIMD(quantize_f32)(int8_t *q, const float *x, const float *factors, size_t n) {
    return factors ? quantize(q, x, AOEI_F32, factors, n) : quantize(q, x, AOEI_F32, NULL, n);
}

float AOEI_SIMD(quantize_bf16)(int8_t *q, const aoei_bf16 *x, const float *factors, size_t n) {
    return factors ? quantize(q, x, AOEI_BF16, factors, n) : quantize(q, x, AOEI_BF16, NULL, n);
}

/* Returns the parts of m values from element i, before they are rounded to integers; the other lanes are about 0. */
static inline vf parts(const float *x, const float *index, const float *factor, vf scale, size_t i, size_t m) {
    const vf half = vf_set1(0.5F), v = vf_round(vf_div(vf_load_part(x + i, m), scale));
    return vf_sub(vf_mul(vf_add(v, vf_add(vf_load_part(index + i, m), half)), vf_load_part(factor + i, m)), half);
}

void AOEI_SIMD(split_int8)(int8_t *q, const float *x, const float *index, const float *factor, float scale, size_t n) {
    const vf s = vf_set1(scale);
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store_int8(q + i, parts(x, index, factor, s, i, VF_LANES));
    if (i < n) {
        int8_t rest[VF_LANES];
        vf_store_int8(rest, parts(x, index, factor, s, i, n - i));
        memcpy(q + i, rest, n - i);
    }
}
