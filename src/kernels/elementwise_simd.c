/* SPDX-License-Identifier: MIT
 * Elementwise addition, multiplication and ReLU, vectorized for AVX2, AVX-512 and NEON.
 */
#include "kernels/kernels.h"
#include "kernels/simd.h"
#include "kernels/simd_math.h"

void AOEI_SIMD(add_f32)(float *y, const float *a, const float *b, size_t n) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(y + i, vf_add(vf_load(a + i), vf_load(b + i)));
    if (i < n)
        vf_store_part(y + i, n - i, vf_add(vf_load_part(a + i, n - i), vf_load_part(b + i, n - i)));
}

void AOEI_SIMD(mul_f32)(float *y, const float *a, const float *b, size_t n) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(y + i, vf_mul(vf_load(a + i), vf_load(b + i)));
    if (i < n)
        vf_store_part(y + i, n - i, vf_mul(vf_load_part(a + i, n - i), vf_load_part(b + i, n - i)));
}

void AOEI_SIMD(relu_f32)(float *y, const float *x, size_t n) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(y + i, vf_relu(vf_load(x + i)));
    if (i < n)
        vf_store_part(y + i, n - i, vf_relu(vf_load_part(x + i, n - i)));
}

void AOEI_SIMD(relu_grad_f32)(float *dx, const float *dy, const float *x, size_t n) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(dx + i, vf_mul(vf_load(dy + i), vf_relu_derivative(vf_load(x + i))));
    if (i < n)
        vf_store_part(dx + i, n - i,
                      vf_mul(vf_load_part(dy + i, n - i), vf_relu_derivative(vf_load_part(x + i, n - i))));
}
