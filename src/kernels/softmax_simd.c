/* SPDX-License-Identifier: MIT
 * Softmax of a row, its gradient and the softmax of a cross entropy, vectorized for AVX2, AVX-512 and NEON. For a sum,
 * lane l of a float accumulator adds the terms of elements l, l + VF_LANES, ... in ascending order; then the lanes of
 * the accumulator are added. Lanes after the last element of the row add 0. An element of -infinity has probability 0.
 * The result is NaN if a row contains only -infinity, or contains NaN or +infinity. For the tier avx512bf16, only
 * softmax_bf16 is compiled, because only this kernel differs from that of avx512.
 */
#include <math.h>

#include "kernels/kernels.h"
#include "kernels/simd.h"
#include "kernels/simd_math.h"

/* Sets p to exp(s - max s) and stats to {max s, sum of p}. */
static inline void softmax_terms(float *p, float *stats, const float *s, size_t n) {
    const vf lowest = vf_set1(-INFINITY);
    const size_t full = n - n % VF_LANES, tail = n - full;
    vf top = lowest;
    for (size_t i = 0; i < full; i += VF_LANES)
        top = vf_max(top, vf_load(s + i));
    if (tail)
        top = vf_max(top, vf_first(vf_load_part(s + full, tail), tail, lowest));
    stats[0] = vf_hmax(top);
    const vf max = vf_set1(stats[0]);

    vf sum = vf_zero();
    for (size_t i = 0; i < full; i += VF_LANES) {
        const vf e = vf_exp(vf_sub(vf_load(s + i), max));
        vf_store(p + i, e);
        sum = vf_add(sum, e);
    }
    if (tail) {
        const vf e = vf_exp(vf_sub(vf_load_part(s + full, tail), max));
        vf_store_part(p + full, tail, e);
        sum = vf_add(sum, vf_first(e, tail, vf_zero()));
    }
    stats[1] = vf_hsum(sum);
}

void AOEI_SIMD(softmax_bf16)(aoei_bf16 *p, float *s, size_t n) {
    const size_t full = n - n % VF_LANES, tail = n - full;
    float stats[2];
    softmax_terms(s, stats, s, n);
    const vf factor = vf_set1(1.0f / stats[1]);
    for (size_t i = 0; i < full; i += VF_LANES)
        vf_store_bf16(p + i, vf_mul(vf_load(s + i), factor));
    if (tail)
        vf_store_bf16_part(p + full, tail, vf_mul(vf_load_part(s + full, tail), factor));
}

#ifndef __AVX512BF16__
static inline void multiply_row(float *p, float factor, size_t n) {
    const size_t full = n - n % VF_LANES, tail = n - full;
    const vf f = vf_set1(factor);
    for (size_t i = 0; i < full; i += VF_LANES)
        vf_store(p + i, vf_mul(vf_load(p + i), f));
    if (tail)
        vf_store_part(p + full, tail, vf_mul(vf_load_part(p + full, tail), f));
}

void AOEI_SIMD(softmax_f32)(float *p, const float *s, size_t n) {
    float stats[2];
    softmax_terms(p, stats, s, n);
    multiply_row(p, 1.0f / stats[1], n);
}

void AOEI_SIMD(cross_entropy_f32)(float *d, float *stats, const float *s, float scale, size_t n) {
    softmax_terms(d, stats, s, n);
    multiply_row(d, scale / stats[1], n);
}

void AOEI_SIMD(softmax_grad_f32)(float *ds, const float *p, const float *dp, float scale, size_t n) {
    const size_t full = n - n % VF_LANES, tail = n - full;
    vf dot = vf_zero();
    for (size_t i = 0; i < full; i += VF_LANES)
        dot = vf_fma(vf_load(p + i), vf_load(dp + i), dot);
    if (tail)
        dot = vf_fma(vf_load_part(p + full, tail), vf_load_part(dp + full, tail), dot);
    const vf mean = vf_set1(vf_hsum(dot)), factor = vf_set1(scale);
    for (size_t i = 0; i < full; i += VF_LANES)
        vf_store(ds + i, vf_mul(vf_mul(vf_load(p + i), vf_sub(vf_load(dp + i), mean)), factor));
    if (tail) {
        const vf d = vf_sub(vf_load_part(dp + full, tail), mean);
        vf_store_part(ds + full, tail, vf_mul(vf_mul(vf_load_part(p + full, tail), d), factor));
    }
}
#endif
