/* SPDX-License-Identifier: MIT
 * Softmax sums over the rows and columns of a block of scores, and the softmax weights that are computed from these
 * sums, vectorized for AVX2, AVX-512 and NEON. For the sum of a row, lane l of an accumulator adds the terms of columns
 * l, l + DV_LANES, ... in ascending order; then the lanes of the accumulator are added. Lanes after the last column add
 * 0.
 */
#include <math.h>

#include "kernels/kernels.h"
#include "kernels/simd.h"

enum { P = AOEI_PANEL_F64 };

/* Returns e^x for every double. The result underflows gradually to 0 and overflows to infinity. NaN gives NaN. The
 * formula is exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln 2 / 2. exp(r) is computed as 1 + (r + r^2
 * Q(r)), where Q is a minimax polynomial of degree 9 that was computed for this file. The relative error of this
 * approximation of exp(r) is 1.1e-17. */
static inline dv dv_exp(dv x) {
    /* for x outside [-746, 710], the result is 0 or infinity; if x is NaN, dv_max and dv_min return it, because it is
     * their second operand */
    x = dv_min(dv_set1(710.0), dv_max(dv_set1(-746.0), x));
    const dv n = dv_round(dv_mul(x, dv_set1(1.4426950408889634)));
    dv r = dv_fnma(n, dv_set1(0.6931471803691238), x);
    r = dv_fnma(n, dv_set1(1.9082149292705877e-10), r);
    dv q = dv_fma(dv_set1(2.5000069375875894e-08), r, dv_set1(2.76302495685794e-07));
    q = dv_fma(q, r, dv_set1(2.7557586355612664e-06));
    q = dv_fma(q, r, dv_set1(2.480149309535597e-05));
    q = dv_fma(q, r, dv_set1(0.00019841269506589194));
    q = dv_fma(q, r, dv_set1(0.0013888888943633774));
    q = dv_fma(q, r, dv_set1(0.008333333333494463));
    q = dv_fma(q, r, dv_set1(0.04166666666653014));
    q = dv_fma(q, r, dv_set1(0.16666666666666413));
    q = dv_fma(q, r, dv_set1(0.5000000000000011));
    q = dv_fma(dv_mul(r, r), q, r);
    return dv_scale2(dv_add(q, dv_set1(1.0)), n);
}

/* Returns the number of columns of b in the vector that starts at column c: 1 to DV_LANES. */
static inline size_t lanes_at(const aoei_scores_f64 *b, size_t c) {
    return b->cols - c < DV_LANES ? b->cols - c : DV_LANES;
}

/* Loads columns [c, c + DV_LANES) of row r of b->x. c is a multiple of DV_LANES. Lanes after the last column of b are
 * set to -infinity. */
static inline dv x_at(const aoei_scores_f64 *b, size_t r, size_t c) {
    const double *x = b->x + c / P * b->panel + r * P + c % P;
    const size_t n = lanes_at(b, c);
    return n == DV_LANES ? dv_load(x) : dv_first(dv_load_part(x, n), n, dv_set1(-INFINITY));
}

void AOEI_SIMD(row_sums_f64)(const aoei_scores_f64 *b, double *max, double *sum) {
    const dv scale = dv_set1(b->scale);
    for (size_t r = 0; r < b->rows; r++) {
        dv top = dv_set1(-INFINITY), total = dv_zero();
        for (size_t c = 0; c < b->cols; c += DV_LANES)
            top = dv_max(top, x_at(b, r, c));
        max[r] = dv_hmax(top) * b->scale;
        const dv shift = dv_set1(max[r]);
        for (size_t c = 0; c < b->cols; c += DV_LANES)
            total = dv_add(total, dv_exp(dv_sub(dv_mul(x_at(b, r, c), scale), shift)));
        sum[r] = dv_hsum(total);
    }
}

void AOEI_SIMD(column_sums_f64)(const aoei_scores_f64 *b, double *max, double *sum) {
    const dv scale = dv_set1(b->scale);
    for (size_t c = 0; c < b->cols; c += DV_LANES) {
        dv top = dv_set1(-INFINITY), total = dv_zero();
        for (size_t r = 0; r < b->rows; r++)
            top = dv_max(top, x_at(b, r, c));
        top = dv_mul(top, scale);
        for (size_t r = 0; r < b->rows; r++)
            total = dv_add(total, dv_exp(dv_sub(dv_mul(x_at(b, r, c), scale), top)));
        dv_store_part(max + c, lanes_at(b, c), top);
        dv_store_part(sum + c, lanes_at(b, c), total);
    }
}

void AOEI_SIMD(score_weights_f64)(const aoei_scores_f64 *b, const double *row_weight, const double *row_log,
                                  const double *column_weight, const double *column_log) {
    const dv scale = dv_set1(b->scale);
    for (size_t c = 0; c < b->cols; c += DV_LANES) {
        const size_t n = lanes_at(b, c);
        const dv weight = dv_load_part(column_weight + c, n), log_sum = dv_load_part(column_log + c, n);
        for (size_t r = 0; r < b->rows; r++) {
            const dv s = dv_mul(x_at(b, r, c), scale);
            const dv across = dv_mul(dv_set1(row_weight[r]), dv_exp(dv_sub(s, dv_set1(row_log[r]))));
            const dv w = dv_fma(weight, dv_exp(dv_sub(s, log_sum)), across);
            dv_store_part(b->x + c / P * b->panel + r * P + c % P, n, w);
        }
    }
}
