/* SPDX-License-Identifier: MIT
 * Conversions from float32 to bf16, from bf16 to float32, and from int8 rows to float32, vectorized for AVX2, AVX-512
 * and NEON. Results are bit-identical on all instruction sets.
 */
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/simd.h"

void AOEI_SIMD(to_bf16)(aoei_bf16 *y, const float *x, size_t n) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store_bf16(y + i, vf_load(x + i));
    if (i < n)
        vf_store_bf16_part(y + i, n - i, vf_load_part(x + i, n - i));
}

void AOEI_SIMD(from_bf16)(float *y, const aoei_bf16 *x, size_t n) {
    size_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(y + i, vf_load_bf16(x + i));
    if (i < n)
        vf_store_part(y + i, n - i, vf_load_bf16_part(x + i, n - i));
}

void AOEI_SIMD(from_int8)(float *y, const int8_t *x, float scale, size_t n) {
    size_t i = 0;
    const vf s = vf_set1(scale);
    for (; i + VF_LANES <= n; i += VF_LANES)
        vf_store(y + i, vf_mul(vf_load_int8(x + i), s));
    if (i < n) {
        int8_t rest[VF_LANES] = {0};
        memcpy(rest, x + i, n - i);
        vf_store_part(y + i, n - i, vf_mul(vf_load_int8(rest), s));
    }
}
