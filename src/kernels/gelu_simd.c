/* SPDX-License-Identifier: MIT
 * GELU with the exact normal distribution function (Hendrycks and Gimpel 2016) and with the tanh approximation,
 * vectorized for AVX2, AVX-512 and NEON.
 */
#include "kernels/kernels.h"
#include "kernels/simd.h"
#include "kernels/simd_math.h"

void AOEI_SIMD(gelu_f32)(float *y, const float *x, size_t n) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(y + i, vf_gelu(vf_load(x + i)));
    if (i < n)
        vf_store_part(y + i, n - i, vf_gelu(vf_load_part(x + i, n - i)));
}

void AOEI_SIMD(gelu_grad_f32)(float *dx, const float *dy, const float *x, size_t n) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(dx + i, vf_mul(vf_load(dy + i), vf_gelu_derivative(vf_load(x + i))));
    if (i < n)
        vf_store_part(dx + i, n - i,
                      vf_mul(vf_load_part(dy + i, n - i), vf_gelu_derivative(vf_load_part(x + i, n - i))));
}

void AOEI_SIMD(gelu_bf16)(aoei_bf16 *y, const aoei_bf16 *x, size_t n) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store_bf16(y + i, vf_gelu(vf_load_bf16(x + i)));
    if (i < n)
        vf_store_bf16_part(y + i, n - i, vf_gelu(vf_load_bf16_part(x + i, n - i)));
}

void AOEI_SIMD(gelu_tanh_f32)(float *y, const float *x, size_t n) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(y + i, vf_gelu_tanh(vf_load(x + i)));
    if (i < n)
        vf_store_part(y + i, n - i, vf_gelu_tanh(vf_load_part(x + i, n - i)));
}

void AOEI_SIMD(gelu_tanh_bf16)(aoei_bf16 *y, const aoei_bf16 *x, size_t n) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store_bf16(y + i, vf_gelu_tanh(vf_load_bf16(x + i)));
    if (i < n)
        vf_store_bf16_part(y + i, n - i, vf_gelu_tanh(vf_load_bf16_part(x + i, n - i)));
}

void AOEI_SIMD(gelu_tanh_grad_f32)(float *dx, const float *dy, const float *x, size_t n) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(dx + i, vf_mul(vf_load(dy + i), vf_gelu_tanh_derivative(vf_load(x + i))));
    if (i < n)
        vf_store_part(dx + i, n - i,
                      vf_mul(vf_load_part(dy + i, n - i), vf_gelu_tanh_derivative(vf_load_part(x + i, n - i))));
}
