/* SPDX-License-Identifier: MIT
 * Rotary position embeddings (RoPE) in portable C. Every operation is rounded separately, so results are bit-identical
 * on all instruction sets.
 */
#include "kernels/kernels.h"

void aoei_rope_f32_c(float *x, const float *angles, float direction, size_t heads, size_t half) {
    for (size_t h = 0; h < heads; h++, x += 2 * half)
        for (size_t i = 0; i < half; i++) {
            const float a = x[i], b = x[half + i], c = angles[i], s = direction * angles[half + i];
            x[i] = a * c - b * s;
            x[half + i] = b * c + a * s;
        }
}

void aoei_rope_bf16_c(aoei_bf16 *x, const float *angles, float direction, size_t heads, size_t half) {
    for (size_t h = 0; h < heads; h++, x += 2 * half)
        for (size_t i = 0; i < half; i++) {
            const float a = aoei_bf16_to_f32(x[i]), b = aoei_bf16_to_f32(x[half + i]);
            const float c = angles[i], s = direction * angles[half + i];
            x[i] = aoei_bf16_from_f32(a * c - b * s);
            x[half + i] = aoei_bf16_from_f32(b * c + a * s);
        }
}
