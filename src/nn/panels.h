/* SPDX-License-Identifier: MIT
 * Float64 matmuls and softmax sums of matrices stored in panels (kernels.h), for the loss functions. Each call runs on the
 * calling thread, which may be a task of a parallel loop. The caller divides the work by shapes only.
 */
#ifndef AOEI_NN_PANELS_H
#define AOEI_NN_PANELS_H

#include "base/context.h"
#include "kernels/kernels.h"

/* Each function calls the kernel with the corresponding name in kernels.h, for the context's CPU tier. */
void aoei_panels_gemm(const aoe_context *ctx, const aoei_gemm_f64 *g);
void aoei_panels_row_sums(const aoe_context *ctx, const aoei_scores_f64 *b, double *max, double *sum);
void aoei_panels_column_sums(const aoe_context *ctx, const aoei_scores_f64 *b, double *max, double *sum);
void aoei_panels_score_weights(const aoe_context *ctx, const aoei_scores_f64 *b, const double *row_weight,
                               const double *row_log, const double *column_weight, const double *column_log);
/* Adds the softmax sums of a block of columns to the totals max[n] and sum[n] of n rows. m[n] is the maximum score of each row
 * in the block, and s[n] is the sum of exp(score - maximum). Before the first call, the caller sets max to -infinity and sum to
 * 0. */
void aoei_panels_add_sums(size_t n, const double *m, const double *s, double *max, double *sum);

#endif
