/* SPDX-License-Identifier: MIT
 * Elementwise addition, multiplication and ReLU in portable C.
 */
#include "kernels/kernels.h"

void aoei_add_f32_c(float *y, const float *a, const float *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

void aoei_mul_f32_c(float *y, const float *a, const float *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] * b[i];
}

void aoei_relu_f32_c(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] < 0 ? 0 : x[i];
}

void aoei_relu_grad_f32_c(float *dx, const float *dy, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        dx[i] = x[i] > 0 ? dy[i] : x[i] <= 0 ? dy[i] * 0 : x[i];
}
