/* SPDX-License-Identifier: MIT
 * LayerNorm, portable tier. Row sums in double, ascending; parameter gradients are one
 * float chain a column, row after row.
 */
#include <math.h>

#include "kernels/kernels.h"

void aoei_layernorm_f32_c(float *y, size_t y_row, float *stats, const float *x, size_t x_row, const float *gamma,
                          const float *beta, float eps, size_t rows, size_t cols) {
    for (size_t r = 0; r < rows; r++) {
        const float *xr = x + r * x_row;
        float *yr = y + r * y_row;
        double sum = 0, squares = 0;
        for (size_t i = 0; i < cols; i++)
            sum += (double)xr[i];
        const double mean = sum / (double)cols;
        for (size_t i = 0; i < cols; i++)
            squares += ((double)xr[i] - mean) * ((double)xr[i] - mean);
        const float m = (float)mean, rstd = (float)(1.0 / sqrt(squares / (double)cols + (double)eps));
        for (size_t i = 0; i < cols; i++)
            yr[i] = (xr[i] - m) * rstd * gamma[i] + beta[i];
        if (stats) {
            stats[2 * r] = m;
            stats[2 * r + 1] = rstd;
        }
    }
}

/* dx = rstd (g - mean(g) - xhat mean(g xhat)) with g = dy gamma */
void aoei_layernorm_grad_f32_c(float *dx, size_t dx_row, const float *dy, size_t dy_row, const float *x, size_t x_row,
                               const float *stats, const float *gamma, size_t rows, size_t cols) {
    for (size_t r = 0; r < rows; r++) {
        const float *xr = x + r * x_row, *dyr = dy + r * dy_row;
        float *dxr = dx + r * dx_row;
        const float m = stats[2 * r], rstd = stats[2 * r + 1];
        double sum = 0, dot = 0;
        for (size_t i = 0; i < cols; i++) {
            const double g = (double)(dyr[i] * gamma[i]);
            sum += g;
            dot += g * (double)((xr[i] - m) * rstd);
        }
        const float mean_g = (float)(sum / (double)cols), mean_gx = (float)(dot / (double)cols);
        for (size_t i = 0; i < cols; i++)
            dxr[i] = (dyr[i] * gamma[i] - mean_g - (xr[i] - m) * rstd * mean_gx) * rstd;
    }
}

void aoei_layernorm_param_grad_f32_c(float *dgamma, float *dbeta, const float *dy, size_t dy_row, const float *x, size_t x_row,
                                     const float *stats, size_t rows, size_t cols) {
    for (size_t r = 0; r < rows; r++) {
        const float *xr = x + r * x_row, *dyr = dy + r * dy_row;
        const float m = stats[2 * r], rstd = stats[2 * r + 1];
        for (size_t i = 0; i < cols; i++) {
            dgamma[i] += dyr[i] * ((xr[i] - m) * rstd);
            dbeta[i] += dyr[i];
        }
    }
}
