/* SPDX-License-Identifier: MIT
 * SiLU (Elfwing et al. 2017), the approximation of GELU by a logistic function (Hendrycks and Gimpel 2016), and their
 * gradients in portable C. Results are computed in double with functions of the C library and rounded once to float32.
 */
#include <math.h>

#include "kernels/kernels.h"

static double logistic(double x) {
    return 1 / (1 + exp(-x));
}

static void swish(float *y, const float *x, size_t n, double scale) {
    for (size_t i = 0; i < n; i++)
        y[i] = (float)((double)x[i] * logistic(scale * (double)x[i]));
}

static void swish_grad(float *dx, const float *dy, const float *x, size_t n, double scale) {
    for (size_t i = 0; i < n; i++) {
        const double z = scale * (double)x[i];
        dx[i] = (float)((double)dy[i] * (logistic(z) + z * (logistic(z) * logistic(-z))));
    }
}

void aoei_silu_f32_c(float *y, const float *x, size_t n) {
    swish(y, x, n, 1);
}

void aoei_silu_grad_f32_c(float *dx, const float *dy, const float *x, size_t n) {
    swish_grad(dx, dy, x, n, 1);
}

void aoei_quick_gelu_f32_c(float *y, const float *x, size_t n) {
    swish(y, x, n, AOEI_QUICK_GELU_SCALE);
}

void aoei_quick_gelu_grad_f32_c(float *dx, const float *dy, const float *x, size_t n) {
    swish_grad(dx, dy, x, n, AOEI_QUICK_GELU_SCALE);
}
