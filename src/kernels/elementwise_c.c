/* SPDX-License-Identifier: MIT
 * Elementwise addition and multiplication in portable C.
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
