/* SPDX-License-Identifier: MIT
 * Softmax of a row, its gradient and the softmax of a cross entropy, in portable C. The kernels use expf of the C
 * library. They add the terms of a sum in double, in ascending order. The result is NaN if a row contains only
 * -infinity, or contains NaN or +infinity.
 */
#include <math.h>

#include "kernels/kernels.h"

void aoei_softmax_f32_c(float *p, const float *s, size_t n) {
    float max = -INFINITY;
    for (size_t i = 0; i < n; i++)
        max = s[i] > max ? s[i] : max;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        p[i] = expf(s[i] - max);
        sum += (double)p[i];
    }
    const float inverse = (float)(1.0 / sum);
    for (size_t i = 0; i < n; i++)
        p[i] *= inverse;
}

void aoei_softmax_bf16_c(aoei_bf16 *p, float *s, size_t n) {
    aoei_softmax_f32_c(s, s, n);
    for (size_t i = 0; i < n; i++)
        p[i] = aoei_bf16_from_f32(s[i]);
}

void aoei_cross_entropy_f32_c(float *d, float *stats, const float *s, float scale, size_t n) {
    float max = -INFINITY;
    for (size_t i = 0; i < n; i++)
        max = s[i] > max ? s[i] : max;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        d[i] = expf(s[i] - max);
        sum += (double)d[i];
    }
    const float factor = (float)((double)scale / sum);
    for (size_t i = 0; i < n; i++)
        d[i] *= factor;
    stats[0] = max;
    stats[1] = (float)sum;
}

void aoei_softmax_grad_f32_c(float *ds, const float *p, const float *dp, float scale, size_t n) {
    double dot = 0;
    for (size_t i = 0; i < n; i++)
        dot += (double)p[i] * (double)dp[i];
    const float mean = (float)dot;
    for (size_t i = 0; i < n; i++)
        ds[i] = p[i] * (dp[i] - mean) * scale;
}
