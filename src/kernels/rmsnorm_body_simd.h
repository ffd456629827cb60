/* SPDX-License-Identifier: MIT
 * RMSNorm, vectorized for AVX2, AVX-512 and NEON, for one type of x and y. norm_types.h includes this file once per
 * type and defines the macros NORM...; layernorm_body_simd.h describes them. Row sums are computed in double. The sum
 * of squares uses two accumulators. Of each pair of vectors, the first vector is added to the first accumulator and the
 * second to the second accumulator. Vectors that remain after the last pair are added to the first accumulator.
 */
#include <math.h>

#include "kernels/kernels.h"

static double NORM(squares)(const NORM_X *x, size_t n) {
    vd s0 = vd_zero(), s1 = vd_zero();
    size_t i = 0;
    for (; i + 2 * VF_LANES <= n; i += 2 * VF_LANES) {
        const vd a = vd_from(NORM_LOAD(x + i)), b = vd_from(NORM_LOAD(x + i + VF_LANES));
        s0 = vd_fma(a, a, s0);
        s1 = vd_fma(b, b, s1);
    }
    for (; i < n; i += VF_LANES) {
        const vd a = vd_from(NORM_LOAD_PART(x + i, n - i < VF_LANES ? n - i : VF_LANES));
        s0 = vd_fma(a, a, s0);
    }
    return vd_hsum(vd_add(s0, s1));
}

void NORM(rmsnorm)(NORM_X *y, size_t y_row, float *stats, const NORM_X *x, size_t x_row, const float *gamma, float eps,
                   size_t rows, size_t cols) {
    for (size_t r = 0; r < rows; r++) {
        const NORM_X *xr = x + r * x_row;
        const float rstd = (float)(1.0 / sqrt(NORM(squares)(xr, cols) / (double)cols + (double)eps));
        const vf s = vf_set1(rstd);
        for (size_t i = 0; i < cols; i += VF_LANES) {
            const size_t n = cols - i < VF_LANES ? cols - i : VF_LANES;
            NORM_STORE_PART(y + r * y_row + i, n,
                            vf_mul(vf_mul(NORM_LOAD_PART(xr + i, n), s), vf_load_part(gamma + i, n)));
        }
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
        const vf s = vf_set1(stats[r]);
        vd dot = vd_zero();
        for (size_t i = 0; i < cols; i += VF_LANES) {
            const size_t n = cols - i < VF_LANES ? cols - i : VF_LANES;
            const vd g = vd_from(vf_mul(vf_load_part(dyr + i, n), vf_load_part(gamma + i, n)));
            dot = vd_fma(g, vd_from(vf_mul(NORM_LOAD_PART(xr + i, n), s)), dot);
        }
        const vf mean = vf_set1((float)(vd_hsum(dot) / (double)cols));
        for (size_t i = 0; i < cols; i += VF_LANES) {
            const size_t n = cols - i < VF_LANES ? cols - i : VF_LANES;
            const vf g = vf_mul(vf_load_part(dyr + i, n), vf_load_part(gamma + i, n));
            const vf xhat = vf_mul(NORM_LOAD_PART(xr + i, n), s);
            vf_store_part(dx + r * dx_row + i, n, vf_mul(vf_fnma(xhat, mean, g), s));
        }
    }
}

void NORM(rmsnorm_param_grad)(float *dgamma, const float *dy, size_t dy_row, const NORM_X *x, size_t x_row,
                              const float *stats, size_t rows, size_t cols) {
    for (size_t c = 0; c < cols; c += VF_LANES) {
        const size_t n = cols - c < VF_LANES ? cols - c : VF_LANES;
        vf sum = vf_load_part(dgamma + c, n);
        for (size_t r = 0; r < rows; r++)
            sum = vf_fma(vf_load_part(dy + r * dy_row + c, n),
                         vf_mul(NORM_LOAD_PART(x + r * x_row + c, n), vf_set1(stats[r])), sum);
        vf_store_part(dgamma + c, n, sum);
    }
}
