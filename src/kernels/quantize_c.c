/* SPDX-License-Identifier: MIT
 * Quantization of rows to int8, in portable C.
 */
#include "kernels/quantize.h"

/* Returns element i of a row as float32. */
static float value(const void *x, aoei_dtype type, size_t i) {
    return type == AOEI_BF16 ? aoei_bf16_to_f32(((const aoei_bf16 *)x)[i]) : ((const float *)x)[i];
}

static float quantize(int8_t *q, const void *x, aoei_dtype type, size_t n) {
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const float v = value(x, type, i);
        uint32_t bits;
        memcpy(&bits, &v, sizeof bits);
        bits &= 0x7fffffffu;
        most = bits > most ? bits : most;
    }
    const aoei_row_scale s = aoei_row_scale_of(most);
    for (size_t i = 0; i < n; i++)
        q[i] = s.inverse > 0 ? (int8_t)lrintf(value(x, type, i) * s.inverse) : 0;
    return s.scale;
}

float aoei_quantize_f32_c(int8_t *q, const float *x, size_t n) {
    return quantize(q, x, AOEI_F32, n);
}

float aoei_quantize_bf16_c(int8_t *q, const aoei_bf16 *x, size_t n) {
    return quantize(q, x, AOEI_BF16, n);
}
