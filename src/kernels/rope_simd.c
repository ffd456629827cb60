/* SPDX-License-Identifier: MIT
 * Rotary position embeddings (RoPE), vectorized for AVX2, AVX-512 and NEON. Every operation is rounded separately, so
 * results are bit-identical on all instruction sets.
 */
#include "kernels/kernels.h"
#include "kernels/simd.h"

void AOEI_SIMD(rope_f32)(float *x, const float *angles, float direction, size_t heads, size_t half) {
    const vf sign = vf_set1(direction);
    for (size_t h = 0; h < heads; h++, x += 2 * half)
        for (size_t i = 0; i < half; i += VF_LANES) {
            const size_t n = half - i < VF_LANES ? half - i : VF_LANES;
            const vf a = vf_load_part(x + i, n), b = vf_load_part(x + half + i, n);
            const vf c = vf_load_part(angles + i, n), s = vf_mul(sign, vf_load_part(angles + half + i, n));
            vf_store_part(x + i, n, vf_sub(vf_mul(a, c), vf_mul(b, s)));
            vf_store_part(x + half + i, n, vf_add(vf_mul(b, c), vf_mul(a, s)));
        }
}

void AOEI_SIMD(rope_bf16)(aoei_bf16 *x, const float *angles, float direction, size_t heads, size_t half) {
    const vf sign = vf_set1(direction);
    for (size_t h = 0; h < heads; h++, x += 2 * half)
        for (size_t i = 0; i < half; i += VF_LANES) {
            const size_t n = half - i < VF_LANES ? half - i : VF_LANES;
            const vf a = vf_load_bf16_part(x + i, n), b = vf_load_bf16_part(x + half + i, n);
            const vf c = vf_load_part(angles + i, n), s = vf_mul(sign, vf_load_part(angles + half + i, n));
            vf_store_bf16_part(x + i, n, vf_sub(vf_mul(a, c), vf_mul(b, s)));
            vf_store_bf16_part(x + half + i, n, vf_add(vf_mul(b, c), vf_mul(a, s)));
        }
}
