/* SPDX-License-Identifier: MIT
 * SiLU and its gradient, vectorized for AVX2 and AVX-512. Include simd_avx2.h or simd_avx512.h first.
 */
#ifndef AOEI_KERNELS_SILU_SIMD_H
#define AOEI_KERNELS_SILU_SIMD_H

#include "kernels/kernels.h"
#include "kernels/simd_math.h"

/* Returns x / (1 + e^-x). */
static inline vf silu(vf x) {
    const vf e = vf_exp(vf_sub(vf_zero(), x)), one = vf_set1(1.0f);
    return vf_mul(x, vf_div(one, vf_add(one, e)));
}

/* Returns the derivative of SiLU, s + x s (1 - s) with s = 1 / (1 + e^-x). 1 - s is computed as e^-x s to avoid
 * cancellation. */
static inline vf silu_derivative(vf x) {
    const vf e = vf_exp(vf_sub(vf_zero(), x)), one = vf_set1(1.0f);
    const vf s = vf_div(one, vf_add(one, e));
    const vf rest = vf_min(vf_mul(e, s), one); /* if e is infinity and s is 0, their product is NaN, and min returns 1 */
    return vf_fma(x, vf_mul(s, rest), s);
}

void AOEI_SIMD(silu_f32)(float *y, const float *x, size_t n) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(y + i, silu(vf_load(x + i)));
    if (i < n)
        vf_store_part(y + i, n - i, silu(vf_load_part(x + i, n - i)));
}

void AOEI_SIMD(silu_grad_f32)(float *dx, const float *dy, const float *x, size_t n) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(dx + i, vf_mul(vf_load(dy + i), silu_derivative(vf_load(x + i))));
    if (i < n)
        vf_store_part(dx + i, n - i, vf_mul(vf_load_part(dy + i, n - i), silu_derivative(vf_load_part(x + i, n - i))));
}

#endif
