/* SPDX-License-Identifier: MIT
 * Conversion of float32 to bf16, bf16 to float32 and int8 rows to float32, portable C.
 */
#include "kernels/kernels.h"

void aoei_to_bf16_c(aoei_bf16 *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = aoei_bf16_from_f32(x[i]);
}

void aoei_from_bf16_c(float *y, const aoei_bf16 *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = aoei_bf16_to_f32(x[i]);
}

void aoei_from_int8_c(float *y, const int8_t *x, float scale, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = (float)x[i] * scale;
}
