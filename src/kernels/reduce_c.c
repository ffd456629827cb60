/* SPDX-License-Identifier: MIT
 * Column sums and the sum of squares in portable C. Column sums are computed in float32, row by row. The sum of squares
 * is computed in double, in ascending order.
 */
#include "kernels/kernels.h"

void aoei_column_sum_f32_c(float *sum, const float *x, size_t x_row, size_t rows, size_t cols) {
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            sum[c] += x[r * x_row + c];
}

double aoei_sum_squares_f32_c(const float *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

void aoei_column_sum_bf16_c(float *sum, const aoei_bf16 *x, size_t x_row, size_t rows, size_t cols) {
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            sum[c] += aoei_bf16_to_f32(x[r * x_row + c]);
}
