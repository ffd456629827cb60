/* SPDX-License-Identifier: MIT
 * RMSNorm in portable C, for one type of x and y. The including file defines NORM_X, NORM_GET, NORM_PUT and NORM(op);
 * layernorm_body_c.h describes them. Row sums are computed in double, in ascending order of columns.
 */
#include <math.h>

#include "kernels/kernels.h"

void NORM(rmsnorm)(NORM_X *y, size_t y_row, float *stats, const NORM_X *x, size_t x_row, const float *gamma, float eps,
                   size_t rows, size_t cols) {
    for (size_t r = 0; r < rows; r++) {
        const NORM_X *xr = x + r * x_row;
        double squares = 0;
        for (size_t i = 0; i < cols; i++)
            squares += (double)NORM_GET(xr[i]) * (double)NORM_GET(xr[i]);
        const float rstd = (float)(1.0 / sqrt(squares / (double)cols + (double)eps));
        for (size_t i = 0; i < cols; i++)
            y[r * y_row + i] = NORM_PUT(NORM_GET(xr[i]) * rstd * gamma[i]);
        if (stats)
            stats[r] = rstd;
    }
}

/* Computes dx = rstd (g - xhat mean(g xhat)), where g = dy gamma and xhat = x rstd. */
void NORM(rmsnorm_grad)(float *dx, size_t dx_row, const float *dy, size_t dy_row, const NORM_X *x, size_t x_row,
                        const float *stats, const float *gamma, size_t rows, size_t cols) {
    for (size_t r = 0; r < rows; r++) {
        const NORM_X *xr = x + r * x_row;
        const float *dyr = dy + r * dy_row;
        const float rstd = stats[r];
        double dot = 0;
        for (size_t i = 0; i < cols; i++)
            dot += (double)(dyr[i] * gamma[i]) * (double)(NORM_GET(xr[i]) * rstd);
        const float mean = (float)(dot / (double)cols);
        for (size_t i = 0; i < cols; i++)
            dx[r * dx_row + i] = (dyr[i] * gamma[i] - NORM_GET(xr[i]) * rstd * mean) * rstd;
    }
}

void NORM(rmsnorm_param_grad)(float *dgamma, const float *dy, size_t dy_row, const NORM_X *x, size_t x_row,
                              const float *stats, size_t rows, size_t cols) {
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < cols; i++)
            dgamma[i] += dy[r * dy_row + i] * (NORM_GET(x[r * x_row + i]) * stats[r]);
}
