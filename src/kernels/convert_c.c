/* SPDX-License-Identifier: MIT
 * Conversions from float32 to bf16, from bf16 to float32, and from int8 rows to float32, in portable C.
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
