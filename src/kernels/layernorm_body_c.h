/* SPDX-License-Identifier: MIT
 * LayerNorm in portable C, for one type of x and y. The including file defines these macros:
 * - NORM_X: type of x and y
 * - NORM_GET and NORM_PUT: conversions from NORM_X to float32 and back
 * - NORM(op): name of the function for op
 * Row sums are computed in double, in ascending order of columns. Parameter gradients are summed in float32, row by
 * row.
 */
#include <math.h>

#include "kernels/kernels.h"

void NORM(layernorm)(NORM_X *y, size_t y_row, float *stats, const NORM_X *x, size_t x_row, const float *gamma,
                     const float *beta, float eps, size_t rows, size_t cols) {
    for (size_t r = 0; r < rows; r++) {
        const NORM_X *xr = x + r * x_row;
        NORM_X *yr = y + r * y_row;
        double sum = 0, squares = 0;
        for (size_t i = 0; i < cols; i++)
            sum += (double)NORM_GET(xr[i]);
        const double mean = sum / (double)cols;
        for (size_t i = 0; i < cols; i++)
            squares += ((double)NORM_GET(xr[i]) - mean) * ((double)NORM_GET(xr[i]) - mean);
        const float m = (float)mean, rstd = (float)(1.0 / sqrt(squares / (double)cols + (double)eps));
        for (size_t i = 0; i < cols; i++)
            yr[i] = NORM_PUT((NORM_GET(xr[i]) - m) * rstd * gamma[i] + beta[i]);
        if (stats) {
            stats[2 * r] = m;
            stats[2 * r + 1] = rstd;
        }
    }
}

/* Computes dx = rstd (g - mean(g) - xhat mean(g xhat)), where g = dy gamma and xhat = (x - mean) rstd. */
void NORM(layernorm_grad)(float *dx, size_t dx_row, const float *dy, size_t dy_row, const NORM_X *x, size_t x_row,
                          const float *stats, const float *gamma, size_t rows, size_t cols) {
    for (size_t r = 0; r < rows; r++) {
        const NORM_X *xr = x + r * x_row;
        const float *dyr = dy + r * dy_row;
        float *dxr = dx + r * dx_row;
        const float m = stats[2 * r], rstd = stats[2 * r + 1];
        double sum = 0, dot = 0;
        for (size_t i = 0; i < cols; i++) {
            const double g = (double)(dyr[i] * gamma[i]);
            sum += g;
            dot += g * (double)((NORM_GET(xr[i]) - m) * rstd);
        }
        const float mean_g = (float)(sum / (double)cols), mean_gx = (float)(dot / (double)cols);
        for (size_t i = 0; i < cols; i++)
            dxr[i] = (dyr[i] * gamma[i] - mean_g - (NORM_GET(xr[i]) - m) * rstd * mean_gx) * rstd;
    }
}

void NORM(layernorm_param_grad)(float *dgamma, float *dbeta, const float *dy, size_t dy_row, const NORM_X *x,
                                size_t x_row, const float *stats, size_t rows, size_t cols) {
    for (size_t r = 0; r < rows; r++) {
        const NORM_X *xr = x + r * x_row;
        const float *dyr = dy + r * dy_row;
        const float m = stats[2 * r], rstd = stats[2 * r + 1];
        for (size_t i = 0; i < cols; i++) {
            dgamma[i] += dyr[i] * ((NORM_GET(xr[i]) - m) * rstd);
            dbeta[i] += dyr[i];
        }
    }
}
