/* SPDX-License-Identifier: MIT
 * Calls the float64 kernels that a context uses, on the calling thread.
 */
#include "kernels/kernel_table.h"
#include "nn/panels.h"

#include <math.h>

void aoei_panels_gemm(const aoe_context *ctx, const aoei_gemm_f64 *g) {
    aoei_kernels_of(ctx)->gemm_f64(g);
}

void aoei_panels_row_sums(const aoe_context *ctx, const aoei_scores_f64 *b, double *max, double *sum) {
    aoei_kernels_of(ctx)->row_sums_f64(b, max, sum);
}

void aoei_panels_column_sums(const aoe_context *ctx, const aoei_scores_f64 *b, double *max, double *sum) {
    aoei_kernels_of(ctx)->column_sums_f64(b, max, sum);
}

void aoei_panels_score_weights(const aoe_context *ctx, const aoei_scores_f64 *b, const double *row_weight,
                               const double *row_log, const double *column_weight, const double *column_log) {
    aoei_kernels_of(ctx)->score_weights_f64(b, row_weight, row_log, column_weight, column_log);
}

void aoei_panels_add_sums(size_t n, const double *m, const double *s, double *max, double *sum) {
    for (size_t i = 0; i < n; i++) {
        if (m[i] > max[i]) {
            sum[i] = sum[i] * exp(max[i] - m[i]) + s[i];
            max[i] = m[i];
        } else {
            sum[i] += s[i] * exp(m[i] - max[i]);
        }
    }
}
