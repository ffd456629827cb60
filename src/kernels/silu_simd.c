/* SPDX-License-Identifier: MIT
 * SiLU, the approximation of GELU by a logistic function, and their gradients, vectorized for AVX2, AVX-512 and NEON.
 */
#include "kernels/kernels.h"
#include "kernels/simd.h"
#include "kernels/simd_math.h"

static inline void swish(float *y, const float *x, size_t n, float scale) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(y + i, vf_swish(vf_load(x + i), scale));
    if (i < n)
        vf_store_part(y + i, n - i, vf_swish(vf_load_part(x + i, n - i), scale));
}

static inline void swish_grad(float *dx, const float *dy, const float *x, size_t n, float scale) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(dx + i, vf_mul(vf_load(dy + i), vf_swish_derivative(vf_load(x + i), scale)));
    if (i < n)
        vf_store_part(dx + i, n - i,
                      vf_mul(vf_load_part(dy + i, n - i), vf_swish_derivative(vf_load_part(x + i, n - i), scale)));
}

void AOEI_SIMD(silu_f32)(float *y, const float *x, size_t n) {
    swish(y, x, n, 1.0f);
}

void AOEI_SIMD(silu_grad_f32)(float *dx, const float *dy, const float *x, size_t n) {
    swish_grad(dx, dy, x, n, 1.0f);
}

void AOEI_SIMD(quick_gelu_f32)(float *y, const float *x, size_t n) {
    swish(y, x, n, (float)AOEI_QUICK_GELU_SCALE);
}

void AOEI_SIMD(quick_gelu_grad_f32)(float *dx, const float *dy, const float *x, size_t n) {
    swish_grad(dx, dy, x, n, (float)AOEI_QUICK_GELU_SCALE);
}
