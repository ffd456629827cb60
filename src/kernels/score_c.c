/* SPDX-License-Identifier: MIT
 * Softmax sums over the rows and columns of a block of scores, and the softmax weights that are computed from these
 * sums, in portable C. The kernels use exp of the C library. They add the terms of a sum in ascending order.
 */
#include <math.h>

#include "kernels/kernels.h"

static double *at(const aoei_scores_f64 *b, size_t r, size_t c) {
    return b->x + c / AOEI_PANEL_F64 * b->panel + r * AOEI_PANEL_F64 + c % AOEI_PANEL_F64;
}

void aoei_row_sums_f64_c(const aoei_scores_f64 *b, double *max, double *sum) {
    for (size_t r = 0; r < b->rows; r++) {
        double top = -INFINITY, total = 0.0;
        for (size_t c = 0; c < b->cols; c++)
            top = fmax(top, *at(b, r, c));
        top *= b->scale;
        for (size_t c = 0; c < b->cols; c++)
            total += exp(*at(b, r, c) * b->scale - top);
        max[r] = top;
        sum[r] = total;
    }
}

void aoei_column_sums_f64_c(const aoei_scores_f64 *b, double *max, double *sum) {
    for (size_t c = 0; c < b->cols; c++) {
        double top = -INFINITY, total = 0.0;
        for (size_t r = 0; r < b->rows; r++)
            top = fmax(top, *at(b, r, c));
        top *= b->scale;
        for (size_t r = 0; r < b->rows; r++)
            total += exp(*at(b, r, c) * b->scale - top);
        max[c] = top;
        sum[c] = total;
    }
}

void aoei_score_weights_f64_c(const aoei_scores_f64 *b, const double *row_weight, const double *row_log,
                              const double *column_weight, const double *column_log) {
    for (size_t r = 0; r < b->rows; r++)
        for (size_t c = 0; c < b->cols; c++) {
            const double s = *at(b, r, c) * b->scale;
            *at(b, r, c) = row_weight[r] * exp(s - row_log[r]) + column_weight[c] * exp(s - column_log[c]);
        }
}
