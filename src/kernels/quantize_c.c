/* SPDX-License-Identifier: MIT
 * Quantization of rows to int8, in portable C.
 */
#include "kernels/quantize.h"

/* Returns element i of a row as float32, multiplied by its factor. */
static float value(const void *x, aoei_dtype type, const float *factors, size_t i) {
    const float v = type == AOEI_BF16 ? aoei_bf16_to_f32(((const aoei_bf16 *)x)[i]) : ((const float *)x)[i];
    return factors ? v * factors[i] : v;
}

static float quantize(int8_t *q, const void *x, aoei_dtype type, const float *factors, size_t n) {
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const float v = value(x, type, factors, i);
        uint32_t bits;
        memcpy(&bits, &v, sizeof bits);
        bits &= 0x7fffffffu;
        most = bits > most ? bits : most;
    }
    const aoei_row_scale s = aoei_row_scale_of(most);
    for (size_t i = 0; i < n; i++)
        q[i] = s.inverse > 0 ? (int8_t)lrintf(value(x, type, factors, i) * s.inverse) : 0;
    return s.scale;
}

float aoei_quantize_f32_c(int8_t *q, const float *x, const float *factors, size_t n) {
    return quantize(q, x, AOEI_F32, factors, n);
}

float aoei_quantize_bf16_c(int8_t *q, const aoei_bf16 *x, const float *factors, size_t n) {
    return quantize(q, x, AOEI_BF16, factors, n);
}

void aoei_split_int8_c(int8_t *q, const float *x, const float *index, const float *factor, float scale, size_t n) {
    for (size_t i = 0; i < n; i++) {
        /* The argument of lrintf is not close to the middle of two integers, so rounding errors have no effect. */
        const float v = (float)lrintf(x[i] / scale);
        q[i] = (int8_t)lrintf((v + (index[i] + 0.5F)) * factor[i] - 0.5F);
    }
}
