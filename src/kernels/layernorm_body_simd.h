/* SPDX-License-Identifier: MIT
 * LayerNorm, vectorized for AVX2, AVX-512 and NEON, for one type of x and y. norm_types.h includes this file once per
 * type and defines these macros:
 * - NORM_X: type of x and y
 * - NORM_LOAD and NORM_STORE: load and store of a vector
 * - NORM_LOAD_PART and NORM_STORE_PART: load and store of the first n lanes of a vector
 * - NORM(op): name of the function for op
 * Row sums are computed in double. The forward pass uses two accumulators per sum. Of each pair of adjacent vectors of
 * a row, the first vector is added to the first accumulator and the second to the second accumulator. A vector that
 * remains after the last pair is added to the second accumulator. A last vector with fewer than VF_LANES elements is
 * added to the first accumulator. Finally, the two accumulators are added, and then the lanes of the result are added.
 * The backward pass uses one accumulator per sum. Parameter gradients are summed in float32, row by row.
 */
#include <math.h>

#include "kernels/kernels.h"

static double NORM(row_sum)(const NORM_X *x, size_t n) {
    vd s0 = vd_zero(), s1 = vd_zero();
    size_t i = 0;
    for (; i + 2 * VF_LANES <= n; i += 2 * VF_LANES) {
        s0 = vd_add(s0, vd_from(NORM_LOAD(x + i)));
        s1 = vd_add(s1, vd_from(NORM_LOAD(x + i + VF_LANES)));
    }
    if (i + VF_LANES <= n) {
        s1 = vd_add(s1, vd_from(NORM_LOAD(x + i)));
        i += VF_LANES;
    }
    if (i < n)
        s0 = vd_add(s0, vd_from(NORM_LOAD_PART(x + i, n - i)));
    return vd_hsum(vd_add(s0, s1));
}

/* Returns the sum of (x - mean)^2 over a row. */
static double NORM(row_squares)(const NORM_X *x, size_t n, double mean) {
    const vd m = vd_set1(mean);
    vd s0 = vd_zero(), s1 = vd_zero();
    size_t i = 0;
    for (; i + 2 * VF_LANES <= n; i += 2 * VF_LANES) {
        const vd a = vd_sub(vd_from(NORM_LOAD(x + i)), m);
        const vd b = vd_sub(vd_from(NORM_LOAD(x + i + VF_LANES)), m);
        s0 = vd_fma(a, a, s0);
        s1 = vd_fma(b, b, s1);
    }
    if (i + VF_LANES <= n) {
        const vd b = vd_sub(vd_from(NORM_LOAD(x + i)), m);
        s1 = vd_fma(b, b, s1);
        i += VF_LANES;
    }
    if (i < n) {
        const vd a = vd_first(vd_sub(vd_from(NORM_LOAD_PART(x + i, n - i)), m), n - i);
        s0 = vd_fma(a, a, s0);
    }
    return vd_hsum(vd_add(s0, s1));
}

void NORM(layernorm)(NORM_X *y, size_t y_row, float *stats, const NORM_X *x, size_t x_row, const float *gamma,
                     const float *beta, float eps, size_t rows, size_t cols) {
    for (size_t r = 0; r < rows; r++) {
        const NORM_X *xr = x + r * x_row;
        NORM_X *yr = y + r * y_row;
        const double mean = NORM(row_sum)(xr, cols) / (double)cols;
        const double rstd = 1.0 / sqrt(NORM(row_squares)(xr, cols, mean) / (double)cols + (double)eps);
        const vf m = vf_set1((float)mean), s = vf_set1((float)rstd);
        size_t i = 0;
        for (; i + VF_LANES <= cols; i += VF_LANES) {
            const vf xhat = vf_mul(vf_sub(NORM_LOAD(xr + i), m), s);
            NORM_STORE(yr + i, vf_fma(xhat, vf_load(gamma + i), vf_load(beta + i)));
        }
        if (i < cols) {
            const size_t n = cols - i;
            const vf xhat = vf_mul(vf_sub(NORM_LOAD_PART(xr + i, n), m), s);
            NORM_STORE_PART(yr + i, n, vf_fma(xhat, vf_load_part(gamma + i, n), vf_load_part(beta + i, n)));
        }
        if (stats) {
            stats[2 * r] = (float)mean;
            stats[2 * r + 1] = (float)rstd;
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
        const vf m = vf_set1(stats[2 * r]), s = vf_set1(stats[2 * r + 1]);
        vd sum = vd_zero(), dot = vd_zero();
        size_t i = 0;
        for (; i + VF_LANES <= cols; i += VF_LANES) {
            const vd g = vd_from(vf_mul(vf_load(dyr + i), vf_load(gamma + i)));
            const vf xhat = vf_mul(vf_sub(NORM_LOAD(xr + i), m), s);
            sum = vd_add(sum, g);
            dot = vd_fma(g, vd_from(xhat), dot);
        }
        /* number of elements in the incomplete vector, less than VF_LANES; the remaining lanes of g and xhat are 0 */
        const size_t n = cols - i;
        if (n) {
            const vd g = vd_from(vf_mul(vf_load_part(dyr + i, n), vf_load_part(gamma + i, n)));
            const vf xhat = vf_first(vf_mul(vf_sub(NORM_LOAD_PART(xr + i, n), m), s), n, vf_zero());
            sum = vd_add(sum, g);
            dot = vd_fma(g, vd_from(xhat), dot);
        }
        const vf mean_g = vf_set1((float)(vd_hsum(sum) / (double)cols));
        const vf mean_gx = vf_set1((float)(vd_hsum(dot) / (double)cols));
        for (i = 0; i + VF_LANES <= cols; i += VF_LANES) {
            const vf g = vf_mul(vf_load(dyr + i), vf_load(gamma + i));
            const vf xhat = vf_mul(vf_sub(NORM_LOAD(xr + i), m), s);
            vf_store(dxr + i, vf_mul(vf_fnma(xhat, mean_gx, vf_sub(g, mean_g)), s));
        }
        if (n) {
            const vf g = vf_mul(vf_load_part(dyr + i, n), vf_load_part(gamma + i, n));
            const vf xhat = vf_mul(vf_sub(NORM_LOAD_PART(xr + i, n), m), s);
            vf_store_part(dxr + i, n, vf_mul(vf_fnma(xhat, mean_gx, vf_sub(g, mean_g)), s));
        }
    }
}

/* Adds the terms of one row to the parameter gradients of VF_LANES columns. */
static inline void NORM(param_grad_row)(vf *dgamma, vf *dbeta, vf g, vf x, vf mean, vf rstd) {
    *dgamma = vf_fma(g, vf_mul(vf_sub(x, mean), rstd), *dgamma);
    *dbeta = vf_add(*dbeta, g);
}

/* Adds the terms of all rows to the parameter gradients of n <= VF_LANES columns. The gradients stay in registers. */
static void NORM(param_grad_part)(float *dgamma, float *dbeta, const float *dy, size_t dy_row, const NORM_X *x,
                                  size_t x_row, const float *stats, size_t rows, size_t n) {
    vf dg = vf_load_part(dgamma, n), db = vf_load_part(dbeta, n);
    for (size_t r = 0; r < rows; r++)
        NORM(param_grad_row)
    (&dg, &db, vf_load_part(dy + r * dy_row, n), NORM_LOAD_PART(x + r * x_row, n), vf_set1(stats[2 * r]),
     vf_set1(stats[2 * r + 1]));
    vf_store_part(dgamma, n, dg);
    vf_store_part(dbeta, n, db);
}

void NORM(layernorm_param_grad)(float *dgamma, float *dbeta, const float *dy, size_t dy_row, const NORM_X *x,
                                size_t x_row, const float *stats, size_t rows, size_t cols) {
    enum { L = VF_LANES };
    size_t c = 0;
    for (; c + 4 * L <= cols; c += 4 * L) { /* four vectors occupy whole cache lines, and the CPU can compute their sums
                                               in parallel, because they are independent */
        float *g = dgamma + c, *b = dbeta + c;
        vf g0 = vf_load(g), g1 = vf_load(g + L), g2 = vf_load(g + 2 * L), g3 = vf_load(g + 3 * L);
        vf b0 = vf_load(b), b1 = vf_load(b + L), b2 = vf_load(b + 2 * L), b3 = vf_load(b + 3 * L);
        for (size_t r = 0; r < rows; r++) {
            const float *dyr = dy + r * dy_row + c;
            const NORM_X *xr = x + r * x_row + c;
            const vf m = vf_set1(stats[2 * r]), s = vf_set1(stats[2 * r + 1]);
            NORM(param_grad_row)(&g0, &b0, vf_load(dyr), NORM_LOAD(xr), m, s);
            NORM(param_grad_row)(&g1, &b1, vf_load(dyr + L), NORM_LOAD(xr + L), m, s);
            NORM(param_grad_row)(&g2, &b2, vf_load(dyr + 2 * L), NORM_LOAD(xr + 2 * L), m, s);
            NORM(param_grad_row)(&g3, &b3, vf_load(dyr + 3 * L), NORM_LOAD(xr + 3 * L), m, s);
        }
        vf_store(g, g0);
        vf_store(g + L, g1);
        vf_store(g + 2 * L, g2);
        vf_store(g + 3 * L, g3);
        vf_store(b, b0);
        vf_store(b + L, b1);
        vf_store(b + 2 * L, b2);
        vf_store(b + 3 * L, b3);
    }
    for (; c < cols; c += L) {
        const size_t n = cols - c < L ? cols - c : L;
        NORM(param_grad_part)(dgamma + c, dbeta + c, dy + c, dy_row, x + c, x_row, stats, rows, n);
    }
}
