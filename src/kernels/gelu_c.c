/* SPDX-License-Identifier: MIT
 * GELU with the exact normal distribution function (Hendrycks and Gimpel 2016), portable
 * tier: Phi(x) = erfc(-x / sqrt 2) / 2 from the C library in double, rounded once.
 */
#include <math.h>

#include "kernels/kernels.h"

#define SQRT_HALF         0.70710678118654752440
#define ONE_OVER_SQRT_2PI 0.39894228040143267794

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
        const double slope = normal_distribution(v) + v * (exp(-0.5 * v * v) * ONE_OVER_SQRT_2PI);
        dx[i] = (float)((double)dy[i] * slope);
    }
}
