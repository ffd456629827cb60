/* SPDX-License-Identifier: MIT
 * GELU with the exact normal distribution function Phi (Hendrycks and Gimpel 2016) and with the tanh approximation, in
 * portable C. Results are computed in double with the C library and rounded once to float32. Phi(x) is computed as
 * erfc(-x / sqrt 2) / 2.
 */
#include <math.h>

#include "kernels/kernels.h"

#define SQRT_HALF         0.70710678118654752440
#define ONE_OVER_SQRT_2PI 0.39894228040143267794
#define SQRT_2_OVER_PI    0.79788456080286535588

static double normal_distribution(double x) {
    return 0.5 * erfc(-x * SQRT_HALF);
}

void aoei_gelu_f32_c(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const double v = (double)x[i];
        y[i] = (float)(v * normal_distribution(v));
    }
}

void aoei_gelu_grad_f32_c(float *dx, const float *dy, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const double v = (double)x[i];
        const double derivative = normal_distribution(v) + v * (exp(-0.5 * v * v) * ONE_OVER_SQRT_2PI);
        dx[i] = (float)((double)dy[i] * derivative);
    }
}

void aoei_gelu_bf16_c(aoei_bf16 *y, const aoei_bf16 *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const float v = aoei_bf16_to_f32(x[i]);
        float g;
        aoei_gelu_f32_c(&g, &v, 1);
        y[i] = aoei_bf16_from_f32(g);
    }
}

/* Returns z such that the tanh approximation of GELU is x / (1 + e^-z). This formula follows from 0.5 (1 + tanh u) = 1
 * / (1 + e^(-2 u)). It has no cancellation, so small results are accurate. */
static double tanh_argument(double x) {
    return 2 * SQRT_2_OVER_PI * (x + 0.044715 * x * x * x);
}

static double logistic(double z) {
    return 1 / (1 + exp(-z));
}

void aoei_gelu_tanh_f32_c(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const double v = (double)x[i];
        y[i] = (float)(v * logistic(tanh_argument(v)));
    }
}

void aoei_gelu_tanh_grad_f32_c(float *dx, const float *dy, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const double v = (double)x[i], z = tanh_argument(v);
        const double derivative = 2 * SQRT_2_OVER_PI * (1 + 3 * 0.044715 * v * v);
        dx[i] = (float)((double)dy[i] * (logistic(z) + v * derivative * (logistic(z) * logistic(-z))));
    }
}

void aoei_gelu_tanh_bf16_c(aoei_bf16 *y, const aoei_bf16 *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const float v = aoei_bf16_to_f32(x[i]);
        float g;
        aoei_gelu_tanh_f32_c(&g, &v, 1);
        y[i] = aoei_bf16_from_f32(g);
    }
}
